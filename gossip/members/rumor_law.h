// RumorLaw: changes the roster by the law of rumors (membership.h), after rumors of other members,
// their silence, and findings about their addresses. To add a rule of members:
// gossip/members/rumor_law.cpp; for the time that a suspect has to answer suspicion.h, for this
// node's own record identity.cpp, for what silence is prober.cpp, for what is believed
// evidence.cpp, for who is told dissemination.cpp, for who is looked for search.cpp, for who can be
// dialled reachability.cpp, for what a message is taken for membership.cpp and
// gossip/node/gate.cpp, what is known of a member in roster.h. A proof that travels also costs a
// message or a field of one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/members/dissemination.h"
#include "gossip/members/evidence.h"
#include "gossip/members/prober.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class RumorLaw {
 public:
  // All outlive this.
  RumorLaw(const Timing& timing, Roster& roster, Dissemination& dissemination, Prober& prober)
      : timing_(timing), roster_(roster), dissemination_(dissemination), prober_(prober) {}

  // REQUIRES a rumor of another node whose incarnation can be exceeded.
  void hear(Time now, const Rumor& rumor, Outbox& out);
  // A message of any kind came from the member, so the member lives.
  void heard_from(Time now, NodeId id, std::uint64_t incarnation, Outbox& out);
  // No process listens at that address of the member.
  void refused(Time now, NodeId id, const Endpoint& at, Outbox& out);
  // The host at that address of the member answers no connection attempt.
  void unanswered(Time now, NodeId id, const Endpoint& at);
  // The member did not answer a probe.
  void hear_silence(Time now, const Prober::Silence& silence, Outbox& out);
  // The member may be dead: this node probes it at once.
  void doubt(Time now, NodeId id);
  // This node did not run for `away`: suspects get that much more time.
  void was_away(Duration away);
  // A member for which `when` returns a time had its certificate revoked at that time: it counts as
  // left. Every node determines that by itself.
  void expel(Time now, const std::function<std::optional<std::uint64_t>(const Member&)>& when,
             Outbox& out);
  // Declares suspects dead whose time has passed.
  void tick(Time now, Outbox& out);
  Time deadline() const { return next_judgement_; }

  // Whether a member sent a message or appeared in a rumor since the start.
  bool connected() const { return connected_; }
  // Problems that a user can solve.
  std::vector<std::string> warnings(Time now) const;

 private:
  using Entry = Roster::Entry;

  // Each of these that takes an Outbox changes the entry and queues its rumor.
  void meet(Time now, const Rumor& rumor, Outbox& out);
  void contest(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void take_rival(Time now, Entry& entry, Outbox& out);
  void hear_alive(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void hear_reissue(Time now, Entry& entry, const Record& heard, Outbox& out);
  void hear_same_age(Time now, Entry& entry, const Record& heard, Outbox& out);
  void hear_accusation(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  bool counts(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void suspect(Time now, Entry& entry, Outbox& out);
  void declare_dead(Time now, Entry& entry, Outbox& out);
  void admit(Time now, Entry& entry, Outbox& out);
  void mark_left(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  Entry* at(NodeId id, const Endpoint& control);
  void become(Entry& entry, const Record& newer, Liveness now, Outbox& out);
  void judge_by(const Suspicion& suspicion);
  void forget_one(Outbox& out);
  void note_unreached(NodeId id);
  void greet(const Member& member, Outbox& out);
  void list(Entry& entry);

  const Timing& timing_;
  Roster& roster_;
  Dissemination& dissemination_;
  Prober& prober_;
  Time next_judgement_ = kNever;
  bool connected_ = false;
  std::set<NodeId> unreached_;       // members that ever refused or missed a connection
  std::optional<Time> turned_away_;  // when the last newcomer was not taken in
};

}  // namespace starling::gossip
