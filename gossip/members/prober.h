// Prober: asks one member a period whether it is there, in turn over a shuffled list, and others to
// ask it when it does not answer (Das, Gupta, Motivala: SWIM, 2002). The node's own health, 0 to 8,
// stretches period and patience: it falls with probes that fail though the helpers answer nothing
// either, with suspicions that had to be refuted, and with time the node itself was away
// (Dadgar, Phillips, Currey: Lifeguard, 2018). Patience follows the measured round trips.
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

class Prober {
 public:
  // What the prober sees of the members, and what it tells them.
  struct View {
    std::span<const Member* const> targets;  // present, without self; in order of ids
    std::function<std::vector<Rumor>(NodeId to)> news;
  };

  struct Silence {
    NodeId member;
    Time since{};       // when it was asked
    bool is_confirmed;  // a helper answered that it hears nothing either
  };

  Prober(const Timing& timing, std::uint64_t seed, Time now);

  // Members that did not answer in time.
  std::vector<Silence> tick(Time now, const View& view, Outbox& out);
  Time deadline() const;
  // The member is late elsewhere: it is asked next, at once.
  void doubt(Time now, NodeId member);
  // Nobody listens at the member's address: nothing more is to be found out.
  void refused(NodeId member);
  void receive(Time now, const Endpoint& from, const Probe& probe, const View& view, NodeId self,
               Outbox& out);
  // The node was not running for that long: what is under way gets it back.
  void was_away(Duration away);
  void refuted() { worsen(1); }

  // 1 in good health, up to 9.
  int stretch() const { return health_ + 1; }
  // How long an answer is waited for.
  Duration patience() const;

 private:
  struct Asked {
    NodeId target;
    Time sent{};
    Duration wait{};             // the patience of that time
    Time requested_at = kNever;  // when others were asked to ask
    std::size_t helpers = 0, nacks = 0;
    bool requested() const { return requested_at != kNever; }
  };
  // Asked for somebody else.
  struct Relay {
    Endpoint asker;
    std::uint64_t number = 0;
    NodeId subject;
    Time nack{}, end{};
    bool told = false;
  };

  void ask(Time now, const Member& target, const View& view, Outbox& out);
  void ask_others(Time now, std::uint64_t number, Asked& asked, const View& view, Outbox& out);
  void relay(Time now, const Endpoint& from, const Probe& probe, const View& view, Outbox& out);
  void answered(Time now, const Probe& probe, Outbox& out);
  const Member* next_target(const View& view);
  // When others are to be asked, or, where they were, when the member counts as silent.
  Time due(const Asked& asked) const;
  bool is_asked(NodeId target) const;
  void measure(Duration round_trip);
  void worsen(int amount);

  static constexpr std::size_t kHelpers = 3;
  // For others, at once; each ends after three patiences. Larger: others can make this node open
  // more connections.
  static constexpr std::size_t kRelaysLimit = 64;
  // Where one does not answer, so many others are asked at once: when many die together, the
  // number of probes doubles with every patience until all are found.
  static constexpr std::size_t kNextAtOnce = 2;
  static constexpr std::size_t kAskedLimit = 16;  // at once; larger: more load when all is slow
  static constexpr int kHealthWorst = 8;

  Timing timing_;
  Prng prng_;
  Time next_probe_;
  std::uint64_t last_number_ = 0;
  std::vector<NodeId> line_;    // who is still to be asked in this turn, last first
  std::vector<NodeId> doubts_;  // to be asked before them
  std::map<std::uint64_t, Asked> asked_;
  std::map<std::uint64_t, Relay> relays_;
  int health_ = 0;
  double round_trip_s_ = 0, deviation_s_ = 0;  // smoothed, as TCP does (RFC 6298)
};

}  // namespace starling::gossip
