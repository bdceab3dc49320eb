// Seeds: the addresses at which this node looks for members, and what it found there. A seed is
// asked while no member is known at its address, with pauses that double up to a limit. A seed that
// is down is no error; reasons() says what is known of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/time.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Seeds {
 public:
  // `own`: the address of this node, which is never a seed. `pause`: half of the pause after the
  // first join.
  Seeds(Endpoint own, Duration pause) : own_(std::move(own)), pause_(pause) {}

  // `is_named`: the user named the seed, so its silence is reported. A seed known from an earlier
  // run is not reported.
  void add(const Endpoint& seed, bool is_named, Time now);
  bool empty() const { return seeds_.empty(); }

  using Known = std::function<bool(const Endpoint&)>;
  // Sends a Join to each seed that is due and at whose address no member is known.
  void ask(Time now, const Known& is_known, const Member& self, Outbox& out);
  // Whether a seed that the user named may still tell of members: no member is known at its
  // address, and nothing was found out about it.
  bool is_awaited(const Known& is_known) const;
  // Makes all seeds due now.
  void hurry(Time now);

  // ---- what is known about an address
  void refused(const Endpoint& at);
  void unanswered(const Endpoint& at);
  // The host name of `at` stands for `address` now. Returns whether that is new; the seed is due
  // then.
  bool resolved(Time now, const Endpoint& at, const Endpoint& address);
  void unresolved(const Endpoint& at, const std::string& problem);
  // The node that listens there has said itself what is wrong (see Misdirected).
  void has_told(const Endpoint& at);

  // Why named seeds gave no members. `is_connected`: some member has answered, so that a silent
  // seed may be a member known by another address.
  std::vector<std::string> reasons(Time now, bool is_connected) const;

 private:
  struct Seed {
    Endpoint endpoint;  // as the user or the saved peers name it
    Endpoint address;   // with the host name looked up
    bool is_named = false;
    Time since{};  // when the seed was added
    Time next{};
    Duration pause{};
    bool is_met = false;    // a member was known at its address
    bool has_told = false;  // the node there has said itself what is wrong
    std::string finding{};  // what this node found to be wrong; empty: nothing
  };

  std::string silence(const Seed& seed) const;
  template <class Change>
  void change(const Endpoint& at, Change change);

  Endpoint own_;
  Duration pause_;
  std::vector<Seed> seeds_;
};

}  // namespace starling::gossip
