// Prober: pings one member per period, in turn over a shuffled list, and requests indirect probes
// of a member that does not answer: helpers ping it (Das, Gupta, Motivala: SWIM, 2002). If neither
// end can dial the other, only helpers that both can dial ping; without such a helper there is no
// probe. The node's own health score, 0 (good) to 8, stretches period and patience. It grows when a
// probe fails and a helper is silent too, when the node had to refute a suspicion, and with the
// time that the node did not run (Dadgar, Phillips, Currey: Lifeguard, 2018). Patience follows the
// measured round trips.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// A helper's answer: the member has answered the helper. It has the member's record as the helper
// knows it (null: the helper does not), which tells two nodes of one name apart.
Probe indirect_ack(std::uint64_t number, NodeId subject, const Member* known);

class Prober {
 public:
  // The members that the prober may ping, and what its messages carry.
  struct View {
    const Member* self = nullptr;
    std::span<const NodeId> targets;            // present members without this node
    std::function<const Member*(NodeId)> find;  // null: not present
    std::function<std::vector<Rumor>(NodeId to)> news;
    Ranges ranges;  // for pings and acks
  };

  struct Silence {
    NodeId member;
    Time since{};       // when the ping was sent
    bool is_confirmed;  // a helper sent a nack: it got no answer either
  };

  // `timing` outlives this.
  Prober(const Timing& timing, std::uint64_t seed, Time now);

  // Returns the members that did not answer in time, neither this node nor its helpers.
  std::vector<Silence> tick(Time now, const View& view, Outbox& out);
  Time deadline() const;
  // The member is late in a round: the prober pings it next, at once.
  void doubt(Time now, NodeId member);
  // No process listens at the member's address: its probe ends without a result.
  void refused(NodeId member);
  void receive(Time now, NodeId from, const Probe& probe, const View& view, NodeId self,
               Outbox& out);
  // The node did not run for `away`: pending probes get that much more time.
  void was_away(Duration away);
  void refuted() { worsen(1); }
  // A member, or this node, turned out to be hidden. Answers missed before that say nothing about
  // this node's health.
  void forgive() { health_ = 0; }

  // 1 in good health, up to 9.
  int stretch() const { return health_ + 1; }
  // How long the prober waits for an answer.
  Duration patience() const;

 private:
  struct Asked {
    NodeId target;
    Time sent{};
    Duration wait{};             // the patience when the ping was sent
    Time requested_at = kNever;  // when the helpers were asked
    std::size_t helpers = 0, nacks = 0;
    bool by_others = false;  // only helpers can ping it: silence without a nack proves nothing
    bool requested() const { return requested_at != kNever; }
  };
  // An indirect probe: a ping that this node sends on another node's request.
  struct Relay {
    NodeId asker;
    std::uint64_t number = 0;
    NodeId subject;
    Time nack{}, end{};  // when to send a nack, and when to forget the relay
    bool told = false;   // the nack was sent
  };

  std::vector<Silence> end_probes(Time now);
  void ask(Time now, const Member& target, const View& view, Outbox& out);
  void ask_others(Time now, std::uint64_t number, Asked& asked, const View& view, Outbox& out);
  void relay(Time now, NodeId from, const Probe& probe, const View& view, Outbox& out);
  void answered(Time now, const Probe& probe, const View& view, Outbox& out);
  const Member* next_target(const View& view);
  static bool may_help(const Member& helper, const Member& subject, const View& view);
  static bool may_ask(const Member& target, const View& view);
  // When the helpers are to be asked, or, if they were asked, when the member counts as silent.
  Time due(const Asked& asked) const;
  bool is_asked(NodeId target) const;
  void measure(Duration round_trip);
  void worsen(int amount);

  static constexpr std::size_t kHelpers = 3;
  // Relays at the same time; each ends after three patiences. Larger: peers can cause more
  // connections of this node.
  static constexpr std::size_t kRelaysLimit = 64;
  // When a member does not answer, this many others are pinged at once: when many members die
  // together, the number of probes doubles with every patience until all are found.
  static constexpr std::size_t kNextAtOnce = 2;
  static constexpr std::size_t kAskedLimit = 16;  // probes at once; larger: more load when slow
  static constexpr int kHealthWorst = 8;

  const Timing& timing_;
  Prng prng_;
  Time next_probe_;
  std::uint64_t last_number_ = 0;
  std::vector<NodeId> line_;    // members still to be pinged in this pass, the next one at the end
  std::vector<NodeId> doubts_;  // members to be pinged before those of line_
  std::map<std::uint64_t, Asked> asked_;
  std::map<std::uint64_t, Relay> relays_;
  int health_ = 0;
  double round_trip_s_ = 0, deviation_s_ = 0;  // smoothed, as TCP does (RFC 6298)
};

}  // namespace starling::gossip
