// Memberships of several nodes, in small steps of time.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/gossip/party.h"

namespace starling::test {

// Some nodes; the first is everybody's seed. What is said arrives at once, but for the silenced.
// The last `hidden` ones cannot be dialled: they hear only whom they have spoken to.
struct Cluster {
  explicit Cluster(int size = 3, bool has_keys = false, int hidden = 0) {
    for (int k = 0; k < size; ++k) {
      gossip::Options options = has_keys ? keyed_options(k) : party_options(k);
      if (k >= size - hidden) hide(options);
      if (k > 0) options.seeds = {party_options(0).control};
      parties.push_back(std::make_unique<Party>(options));
    }
  }
  void run(Duration duration) {
    const Time end = now + duration;
    for (; now < end; now += 50ms) {
      tell_unanswered();
      for (std::size_t k = 0; k < parties.size(); ++k) {
        if (!parties[k] || stopped == k) continue;
        parties[k]->tick(now);
        deliver();
      }
    }
  }
  void tell_unanswered() {
    std::erase_if(unanswered, [&](const Unanswered& probe) {
      if (now < probe.at) return false;
      if (Party* party = parties[probe.by].get())
        party->membership.unanswered(now, probe.what, party->outbox);
      return true;
    });
  }
  void deliver() {
    for (bool said = true; said;) {
      said = false;
      for (std::size_t k = 0; k < parties.size(); ++k) {
        if (!parties[k]) continue;
        const std::vector<gossip::ConnectProbe> asked = parties[k]->probed();
        probes += asked.size();
        for (const gossip::ConnectProbe& probe : asked) vain_probes += probe.at.port == 0;
        answer(k, asked);
        for (const Said& send : parties[k]->said()) {
          said = true;
          for (std::size_t to = 0; to < parties.size(); ++to)
            if (parties[to] && is_of(to, send.at) && !(cut == k || cut == to) && stopped != to &&
                passes(k, to, send.is_dialled))
              parties[to]->hear(now, send.message);
        }
      }
    }
  }
  // A member that is known to be hidden is reached at its host, without a port.
  bool is_of(std::size_t party, const Endpoint& at) const {
    const Endpoint& own = parties[party]->options.control;
    return own.host == at.host && (own.port == at.port || at.port == 0);
  }
  bool is_near(std::size_t a, std::size_t b) const {
    return same_lan.contains(a) && same_lan.contains(b);
  }
  bool is_hidden(std::size_t party) const {
    return parties[party]->options.control.port == 0 || behind_nat.contains(party);
  }
  // Whether there is a connection, or one can be dialled.
  bool passes(std::size_t from, std::size_t to, bool is_dialled) {
    if (!is_hidden(to) || is_near(from, to)) return dialled.insert({from, to}), true;
    const bool is_open = !is_dialled && dialled.contains({to, from});
    lost_to_hidden += !is_open;
    return is_open;
  }
  void answer(std::size_t by, const std::vector<gossip::ConnectProbe>& asked) {
    for (const gossip::ConnectProbe& probe : asked) {
      bool listens = false;
      for (std::size_t k = 0; k < parties.size(); ++k)
        listens |= parties[k] && (!behind_nat.contains(k) || is_near(by, k)) &&
                   parties[k]->options.control == probe.at;
      Party& party = *parties[by];
      if (silences && !listens) unanswered.push_back({now + 1500ms, by, {probe.of, probe.at}});
      if (refuses && !listens) party.membership.refused(now, {probe.of, probe.at}, party.outbox);
    }
  }
  gossip::Liveness seen(std::size_t by, const std::string& name) {
    return parties[by]->liveness(now, name);
  }

  Time now{};
  Prng prng{1};
  std::vector<std::unique_ptr<Party>> parties;
  std::optional<std::size_t> cut;      // nothing to or from this one arrives
  std::optional<std::size_t> stopped;  // this one does nothing at all
  struct Unanswered {
    Time at{};
    std::size_t by;
    gossip::Unanswered what;
  };
  std::vector<Unanswered> unanswered;
  bool silences = false;  // no probe is answered where nobody lives
  bool refuses = false;   // probes are answered where nobody lives
  std::size_t probes = 0;
  std::set<std::pair<std::size_t, std::size_t>> dialled;  // who has dialled whom
  std::set<std::size_t> behind_nat;                       // give an address that leads to nobody
  std::set<std::size_t> same_lan;                         // reach each other all the same
  std::size_t vain_probes = 0;                            // of nodes that cannot be dialled
  std::size_t lost_to_hidden = 0;                         // messages without a connection
};

}  // namespace starling::test
