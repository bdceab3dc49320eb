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

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/dissemination.h"
#include "gossip/members/fanout_view.h"
#include "gossip/members/identity.h"
#include "gossip/members/prober.h"
#include "gossip/members/seeds.h"
#include "gossip/members/suspicion.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {

class Membership {
 public:
  Membership(const Options& options, Time now);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // To be called before anything else of a step: finds out whether the node was away.
  void awake(Time now);
  void receive(Time now, const Join& join, Outbox& out);
  void receive(Time now, const Gossip& gossip, Outbox& out);
  void receive(Time now, const Envelope& from, const Table& table, Outbox& out);
  void receive(Time now, const Envelope& from, const Probe& probe, Outbox& out);
  // Of another node that runs under this node's name.
  void receive_namesake(Time now, const Message& message, Outbox& out);
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

  void add_seed(const Endpoint& seed, Time now) { seeds_.add(seed, true, now); }
  Seeds& seeds() { return seeds_; }
  // Says goodbye to everybody; nothing is sent after that.
  void leave(Outbox& out);

  // Tells that member at once what the others hear as news: that this node is as it is.
  void introduce(NodeId to, Outbox& out) const;

  // What others shall know of this node; a new phase is news.
  void set_self(Phase phase, std::uint64_t round, double loss);

  NodeId self() const { return self_record().id; }
  // Grows whenever a member appears, goes, comes back, or changes its phase.
  std::uint64_t version() const { return version_; }
  // Grows whenever a member goes.
  std::uint64_t departures() const { return departures_; }
  // This node has had a message of that member itself.
  bool has_spoken(NodeId id) const;
  // A live or suspect member, self included; null for others.
  const Member* find(NodeId id) const;
  // Nothing more comes of this life of that node: it began another, left, or is not known.
  bool has_ended(NodeId id, std::uint64_t incarnation) const;
  // Live and suspect members that have a model, self included, in natural order of names.
  std::vector<const Member*> ready() const;
  // It has the values on which nodes must agree.
  bool agrees(const Member& member) const { return member.agreement == self_record().agreement; }
  std::size_t ready_count() const;
  // Live and suspect members, self included, in the same order; until the version grows.
  const std::vector<const Member*>& present() const { return present_; }
  std::vector<MemberStatus> status(Time now) const;
  // A seed or another member has answered since the start.
  bool connected() const { return connected_; }
  bool has_seeds() const { return !seeds_.empty(); }
  // A seed that a person named may still tell of other members.
  bool awaits_seed() const;
  // What a person can mend: seeds that give no members, members that do not reach each other.
  std::vector<std::string> warnings(Time now) const;
  const Identity& identity() const { return identity_; }
  // Of the latest life of that node that was heard of; nothing where it is not known.
  std::optional<std::uint64_t> incarnation_of(NodeId id) const;
  // "its machine is busy: …" where the node's own health is poor; empty otherwise.
  std::string health() const;

 private:
  struct Entry {
    Member member;
    Liveness liveness = Liveness::alive;
    Time last_heard{};
    bool has_spoken = false;                  // itself, to this node
    std::optional<Suspicion> suspicion = {};  // of a suspect
    std::optional<Time> missed = {};          // when its host answered no connection
    std::optional<Time> refused = {};         // when that refused one
    bool is_reached = false;                  // in this life it has answered this node
    Time next_ask{};                          // of one that is dead
    Duration pause{};
    // A later record of the name at another address. It is believed when this one is dead.
    std::optional<Member> rival = {};
    Time rival_heard{};
  };

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
  void unlist(const Entry& entry);
  Prober::View view();
  std::vector<Rumor> news_for(NodeId to);
  std::vector<Rumor> table() const;
  const Member& self_record() const { return identity_.record(); }
  const Endpoint* control_of(NodeId id) const;
  bool is_present(const Entry& entry) const { return entry.liveness <= Liveness::suspect; }
  bool knows_endpoint(const Endpoint& control) const;

  Timing timing_;
  Identity identity_;
  std::map<NodeId, Entry> others_;
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
  std::uint64_t version_ = 1;
  std::uint64_t departures_ = 0;
  std::vector<const Member*> present_;         // self included, in natural order of names
  std::vector<const Member*> present_others_;  // in order of ids
};

}  // namespace starling::gossip
