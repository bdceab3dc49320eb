// Reachability: whether others can dial the address that a node gives. A node requests up to three
// members that can be dialled to dial it there; if at least half of those that answer failed, it
// counts as hidden, and the others wait for it to dial. The test is repeated, because firewalls and
// NATs change. Members of other networks are asked first: nodes behind one NAT can dial each other.
//
// A member that is asked dials the address, sends the asker's number over that connection, and
// probes whether a process listens there. Only the returned number shows that the address leads to
// the asker: behind two NATs two machines may have the same address.
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
  // A ConnectProbe found that no process listens at the address, or that no host answers there.
  void failed(const Endpoint& at, Outbox& out);
  // That host name was looked up.
  void resolved(const Endpoint& name, Outbox& out) const;
  // Sends requests and answers. Returns whether this node is hidden, if that has changed.
  std::optional<bool> tick(Time now, Outbox& out);
  Time deadline() const;
  // Names a member that could not dial this node, if the node is hidden for that.
  std::vector<std::string> warnings() const;

 private:
  // A request to a member in the current test.
  struct Question {
    NodeId to;
    std::string name;  // of the member
    std::uint64_t number = 0;
    bool is_called = false;              // the number came back
    std::optional<bool> is_closed = {};  // nothing: it has not answered
  };
  // A request of a member, for which this node dials.
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
  Time until_{};                      // the end of the current test
  std::vector<std::string> against_;  // why this node is hidden; empty: it is not
  std::vector<Call> calls_;
};

}  // namespace starling::gossip
