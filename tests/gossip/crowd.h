// Memberships of several nodes, in small steps of time.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/gossip/party.h"

namespace starling::test {

// Some nodes; the first is everybody's seed. What is said arrives at once, but for the silenced.
struct Cluster {
  explicit Cluster(int size = 3, bool has_keys = false) {
    for (int k = 0; k < size; ++k) {
      gossip::Options options = has_keys ? keyed_options(k) : party_options(k);
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
      if (Party* party = parties[probe.by].get()) party->membership.unanswered(now, probe.what);
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
        answer(k, asked);
        for (const Said& send : parties[k]->said()) {
          said = true;
          for (std::size_t to = 0; to < parties.size(); ++to)
            if (parties[to] && parties[to]->options.control == send.at &&
                !(cut == k || cut == to) && stopped != to)
              parties[to]->hear(now, send.message);
        }
      }
    }
  }
  void answer(std::size_t by, const std::vector<gossip::ConnectProbe>& asked) {
    for (const gossip::ConnectProbe& probe : asked) {
      const bool listens = std::ranges::any_of(
          parties, [&](const auto& party) { return party && party->options.control == probe.at; });
      Party& party = *parties[by];
      if (silences && !listens) unanswered.push_back({now + 1500ms, by, {probe.of, probe.at}});
      if (refuses && !listens) party.membership.refused(now, {probe.of, probe.at}, party.outbox);
    }
  }
  gossip::Liveness seen(std::size_t by, const std::string& name) {
    return parties[by]->liveness(now, name);
  }

  Time now{};
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
};

}  // namespace starling::test
