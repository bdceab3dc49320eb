// Seeds: the places where this node looks for members, and its findings there. A place is an
// address; a seed is one place, or a name in the DNS that stands for any number of them, which may
// change. A place is sent joins while no member is known at its address, with pauses that double up
// to a limit. A seed that is down, or a name that does not exist yet, is no error: see reasons().
//
// A name in the DNS is looked up again with the same pauses while this node knows no other member,
// and otherwise every thirty seconds, which heals a cluster that began in several parts. Then only
// a few of its places are sent joins: members may have other addresses than those in the DNS.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/seed_name.h"
#include "base/time.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// The most addresses of one seed; the others are left out. Larger: a name that grows without bound
// costs more messages.
inline constexpr std::size_t kSeedAddressesLimit = 64;

class Seeds {
 public:
  // `own`: the address of this node; `aliases`: its other addresses. None is ever a place. `pause`:
  // half of the pause after the first join.
  Seeds(Endpoint own, std::vector<Endpoint> aliases, Duration pause)
      : own_(std::move(own)), aliases_(std::move(aliases)), pause_(pause) {}

  // `is_named`: the user named the seed, so its silence is reported. A seed known from an earlier
  // run is not reported.
  void add(const SeedName& name, bool is_named, Time now);
  bool empty() const { return seeds_.empty(); }
  // Whether the user named a seed that is not only this node itself.
  bool name_others() const;

  using Known = std::function<bool(const Endpoint&)>;
  // This node's knowledge of the members.
  struct View {
    Known is_known;  // whether a member is at an address
    bool is_alone;   // no other member is known
  };
  // Sends a Join to each place that is due and at whose address no member is known, and a LookUp
  // for each name that is due. Hangs up on addresses that a name no longer has.
  void ask(Time now, const View& view, const Member& self, Outbox& out);
  // Whether a seed named by the user may still lead to members: at one of its places neither a
  // member nor a problem is known.
  bool is_awaited(const Known& is_known) const;
  // Makes all places due now.
  void hurry(Time now);

  // ---- findings about an address
  void refused(const Endpoint& at);
  void unanswered(const Endpoint& at);
  // The key was requested by UDP; joins use TCP. A firewall may block either.
  void asked_for_key(const Endpoint& at, bool is_answered);
  // The name `at` has these addresses now. Returns whether there is a new place to ask.
  bool resolved(Time now, const SeedName& at, const std::vector<Endpoint>& addresses);
  // Keeps the addresses of the last look-up.
  void unresolved(Time now, const SeedName& at, const std::string& problem);
  // The node there has itself reported what is wrong (see Misdirected).
  void has_told(const Endpoint& at);

  // Why named seeds gave no members. `is_connected`: some member has answered, so that a silent
  // seed may be a member known by another address.
  std::vector<std::string> reasons(Time now, bool is_connected) const;

 private:
  struct Place {
    Endpoint endpoint;  // as named by the user, the saved peers or the DNS
    Endpoint address;   // with the host name looked up
    Time next{};
    Duration pause{};
    bool is_met = false;              // a member was known at its address
    bool has_told = false;            // the node there has itself reported what is wrong
    std::string finding{};            // a problem that this node found; empty: none
    std::optional<bool> tells_key{};  // whether it sends its key; nothing: not requested
  };
  // The state of a name in the DNS.
  struct Search {
    std::optional<Time> asked{};   // while a look-up is under way: since when
    std::optional<Time> found{};   // the end of the last look-up
    Duration pause{};              // from that to the next, while this node is alone
    std::string problem{};         // of the last look-up; empty: it gave addresses
    bool has_own = false;          // this node's own address was among them
    std::size_t turn = 0;          // the place to ask next while other members are known
    std::size_t left = 0;          // how many may be asked of this look-up
    std::vector<Endpoint> gone{};  // former addresses, until their connections are closed
  };
  struct Seed {
    SeedName name;
    bool is_named = false;
    Time since{};  // when the seed was added
    std::vector<Place> places{};
    Search search{};
  };

  bool is_own(const Endpoint& at) const;
  void look_up(Time now, bool is_alone, Seed& seed, Outbox& out);
  void hang_up(const Known& is_known, Seed& seed, Outbox& out);
  bool note_met(const Known& is_known, Place& place);
  void ask_in_turn(const View& view, const Member& self, Seed& seed, Outbox& out);
  bool take_addresses(Time now, Seed& seed, const std::vector<Endpoint>& addresses);
  std::string silence(const Place& place) const;
  std::string reason(Time now, const Seed& seed, bool is_connected) const;
  std::string reason_of_name(Time now, const Seed& seed, bool is_connected) const;
  template <class Change>
  void change(const Endpoint& at, Change change);

  Endpoint own_;
  std::vector<Endpoint> aliases_;
  Duration pause_;
  std::vector<Seed> seeds_;
};

}  // namespace starling::gossip
