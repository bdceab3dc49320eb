// Membership: who is in the cluster. SWIM with Lifeguard's extensions: probes find who is silent
// (see prober.h), suspicion gives it time (suspicion.h), news spread what was found (news.h), and
// only the accused refutes, with a higher version of its own record. Beyond them: the dead and the
// seeds are asked for ever, so that a partition of any length heals by itself; who left is
// forgotten after a time; a node may come back elsewhere.
//
// The law of rumors, for records ordered by (incarnation, version):
//   alive    outdoes whatever is older
//   suspect  outdoes alive of the same age or older, and whatever is older
//   dead     outdoes alive and suspect of the same age or older
//   left     outdoes whatever is of the same age or older
// so that nodes that heard the same rumors, in any order and any number, agree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/dissemination.h"
#include "gossip/members/fanout_view.h"
#include "gossip/members/identity.h"
#include "gossip/members/prober.h"
#include "gossip/members/roster.h"
#include "gossip/members/seeds.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {

class Membership {
 public:
  Membership(const Options& options, Time now);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // To be called before anything else of a step: finds out whether the node was away.
  void awake(Time now);
  // A message; of another kind than Join, Gossip, Table and Probe nothing comes. From a node that
  // runs under this node's name, Join and Table.
  void receive(Time now, const Envelope& from, const Body& body, Outbox& out);
  // Nobody listens at that address.
  void refused(Time now, const Endpoint& at, Outbox& out);
  // The host there answers no connection.
  void unanswered(Time now, const Endpoint& at);
  // A host name was looked up.
  void resolved(Time now, const Resolved& name);
  // Any message of a member shows that it lives.
  void heard_from(Time now, NodeId id, std::uint64_t incarnation);
  // The member is late in a round: it is asked at once.
  void doubt(Time now, NodeId id);
  void tick(Time now, Outbox& out);
  Time deadline() const;

  Seeds& seeds() { return seeds_; }
  // Says goodbye to everybody; nothing is sent after that.
  void leave(Outbox& out);

  // What others shall know of this node; a new phase is news.
  void set_self(Phase phase, std::uint64_t round, double loss);

  const Roster& roster() const { return roster_; }
  // A seed or another member has answered since the start.
  bool connected() const { return connected_; }
  bool has_seeds() const { return !seeds_.empty(); }
  // A seed that a person named may still tell of other members.
  bool awaits_seed() const;
  // What a person can mend: seeds that give no members, members that do not reach each other.
  std::vector<std::string> warnings(Time now) const;
  const Identity& identity() const { return identity_; }
  // "its machine is busy: …" where the node's own health is poor; empty otherwise.
  std::string health() const;

 private:
  using Entry = Roster::Entry;

  void hear(Time now, const Envelope& from, const Join& join, Outbox& out);
  void hear(Time now, const Envelope& from, const Gossip& gossip, Outbox& out);
  void hear(Time now, const Envelope& from, const Table& table, Outbox& out);
  void hear(Time now, const Envelope& from, const Probe& probe, Outbox& out);
  void hear_namesake(Time now, const Body& body, Outbox& out);
  void merge(Time now, const Rumor& rumor, Outbox& out);
  void meet(Time now, const Rumor& rumor, Outbox& out);
  void about_self(Time now, const Rumor& rumor, Outbox& out);
  void self_changed(Time now);
  void contest(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void take_rival(Time now, Entry& entry, Outbox& out);
  void is_alive(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void is_same_age(Entry& entry, const Member& heard, Outbox& out);
  void is_suspect(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void is_dead(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void is_gone_again(Entry& entry, const Rumor& rumor);
  void has_left(Time now, Entry& entry, const Rumor& rumor, Outbox& out);
  void is_silent(Time now, const Prober::Silence& silence, Outbox& out);
  void judge(Time now, Outbox& out);
  void ask_the_lost(Time now, Outbox& out);
  void ask_for_the_name(Time now, Outbox& out);
  void tell_news(Time now, Outbox& out);
  void exchange_tables(Time now, Outbox& out);
  void add_news(const Rumor& rumor);
  bool welcomes(Time now, const Join& join);
  void forget_one(Outbox& out);
  void list(const Entry& entry);
  Prober::View view();
  std::vector<Rumor> news_for(NodeId to);
  std::vector<Rumor> table() const;
  const Member& self_record() const { return identity_.record(); }

  Timing timing_;
  Identity identity_;
  Roster roster_;
  Seeds seeds_;
  Prng prng_;
  Prober prober_;
  Dissemination dissemination_;
  FanoutView fanout_;
  Time next_news_ = kNever;
  Time last_news_;
  Time next_exchange_;
  Duration exchange_pause_;  // until the one after it
  Time next_ask_;            // at most so many of the lost a second
  Time next_judgement_ = kNever;
  double strangers_left_;  // that may join now
  Time counted_strangers_;
  Time expected_;  // when this node wanted to run again
  bool connected_ = false;
  std::optional<Time> turned_away_;  // when there was no room for somebody
};

}  // namespace starling::gossip
