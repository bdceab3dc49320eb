// Membership: which nodes are in the cluster. SWIM with Lifeguard's extensions: probes find silent
// members (prober.h), suspicion gives them time to answer (suspicion.h), dissemination spreads
// rumors (dissemination.h), and only the accused member refutes, with a higher version of its own
// record. Beyond SWIM: dead members and seeds are sent joins forever (search.h), so that a
// partition of any length heals by itself; a member that left is forgotten after a time; a node may
// come back at another address.
//
// The law of rumors, for records ordered by (incarnation, version):
//   alive    overrides older records
//   suspect  overrides alive of the same age or older, and any older record
//   dead     overrides alive and suspect of the same age or older
//   left     overrides any record of the same age or older
// so that nodes that received the same rumors, in any order and any number, agree.
#pragma once

#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/allowance.h"
#include "gossip/members/dissemination.h"
#include "gossip/members/evidence.h"
#include "gossip/members/extremes.h"
#include "gossip/members/identity.h"
#include "gossip/members/prober.h"
#include "gossip/members/reachability.h"
#include "gossip/members/revocation_news.h"
#include "gossip/members/roster.h"
#include "gossip/members/rumor_law.h"
#include "gossip/members/search.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Membership {
 public:
  // Both outlive this.
  Membership(const Options& options, Notary& notary, Time now);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Call this first in every step. Returns whether the node was suspended.
  bool awake(Time now);
  void receive(Time now, const Envelope& from, const MembershipBody& body, Outbox& out);
  // From a node with this node's name: a Join or a Table; other messages change nothing.
  void hear_namesake(Time now, const Body& body, Outbox& out);
  // The findings of a ConnectProbe.
  void refused(Time now, const Refused& refused, Outbox& out);
  void unanswered(Time now, const Unanswered& unanswered, Outbox& out);
  // The lookup of a host name ended.
  void resolved(Time now, const Resolved& name, Outbox& out);
  // A message of any kind came from the member, so the member lives.
  void heard_from(Time now, NodeId id, std::uint64_t incarnation, Outbox& out) {
    law_.heard_from(now, id, incarnation, out);
  }
  // The member is late in a round: this node probes it at once.
  void doubt(Time now, NodeId id) { law_.doubt(now, id); }
  void tick(Time now, Outbox& out);
  Time deadline() const;

  Seeds& seeds() { return search_.seeds(); }
  Extremes& extremes() { return extremes_; }
  // Announces to present members within reach, and to dead ones, that this node leaves. Sends
  // nothing afterwards.
  void leave(Outbox& out);

  // Sets this node's report to other members.
  void set_self(const Report& report);

  const Roster& roster() const { return roster_; }
  // Whether a member sent a message or appeared in a rumor since the start.
  bool connected() const { return law_.connected(); }
  const Search& search() const { return search_; }
  // Problems that a user can solve: seeds that give no members, members that cannot be reached.
  std::vector<std::string> warnings(Time now) const;
  const Identity& identity() const { return identity_; }
  // A sentence about the node's own health if it is poor; empty otherwise.
  std::string health() const;

 private:
  struct Hearing;  // takes each kind of MembershipBody
  void hear(Time now, const Envelope& from, const Join& join, Outbox& out);
  void hear(Time now, const Envelope& from, const Table& table, Outbox& out);
  void hear(Time now, const Envelope& from, const Probe& probe, Outbox& out);
  bool merge(Time now, NodeId teller, const Rumor& rumor, Outbox& out);
  void self_changed(Time now);
  void tell_reachability(Time now, bool is_hidden, Outbox& out);

  const Duration period_;
  Identity identity_;
  Roster roster_;
  Evidence evidence_;
  Prng prng_;
  Prober prober_;
  Extremes extremes_;
  Dissemination dissemination_;
  RumorLaw law_;
  Search search_;
  RevocationNews revocations_;
  Reachability reachability_;
  Allowance strangers_;  // limits the answers to joins of unknown nodes
  Time expected_;        // the deadline at the end of the last step
};

}  // namespace starling::gossip
