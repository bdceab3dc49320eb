// Reachability: whether others can dial the address that a node gives. A node asks up to three
// members that can be dialled to dial it there; when at least half of those who tried found no way,
// it counts as hidden, and the others wait for it to dial. It asks again now and then, because
// firewalls and NATs change. Members of other networks are asked first: nodes on one side of a NAT
// can dial each other.
//
// The member that is asked sends the asker's number over a connection that it dials for it, and
// looks whether anybody listens there at all. Only the number that comes back shows that the
// address leads to the asker: behind two NATs two machines may have the same address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Reachability {
 public:
  // `roster` and `prng` outlive this.
  Reachability(const Options& options, const Roster& roster, Prng& prng, Time now);

  void receive(Time now, NodeId from, const DialBack& message, Outbox& out);
  // A ConnectProbe found that nobody listens at the address, or that no host answers there.
  void failed(const Endpoint& at, Outbox& out);
  // That host name was looked up.
  void resolved(const Endpoint& name, Outbox& out) const;
  // Asks, and answers. Returns whether this node is hidden, when that has changed.
  std::optional<bool> tick(Time now, Outbox& out);
  Time deadline() const;
  // Who could not dial this node, if it is hidden for that.
  std::vector<std::string> warnings() const;

 private:
  // To a member that is asked in the test under way.
  struct Question {
    NodeId to;
    std::string name;  // of the member
    std::uint64_t number = 0;
    bool is_called = false;              // the number came back
    std::optional<bool> is_closed = {};  // nothing: it has not answered
  };
  // A member for which this node dials.
  struct Call {
    NodeId asker;
    std::uint64_t number = 0;
    Endpoint control;
    Time until{};
  };

  void ask(Time now, Outbox& out);
  void call(Time now, NodeId from, const DialBack& request, Outbox& out);
  void dial(const Call& call, Outbox& out) const;
  void answer(const Call& call, bool is_closed, Outbox& out) const;
  std::vector<const Member*> askable() const;
  bool is_decided(Time now) const;
  std::optional<bool> conclude(Time now);

  const Roster& roster_;
  Prng& prng_;
  const Endpoint control_;
  const Duration period_;
  Time next_test_;  // never: this node gives no address to test
  std::vector<Question> asked_;
  Time until_{};                      // the end of the test under way
  std::vector<std::string> against_;  // why this node is hidden; empty: it is not
  std::vector<Call> calls_;
};

}  // namespace starling::gossip
