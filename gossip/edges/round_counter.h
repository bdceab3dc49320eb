// RoundCounter: the round of a node, which neighbours it follows when they are rounds ahead, and
// which of the rounds that it jumps over count as done. Up to b neighbours may claim any round
// (Needs::liars), so
//   b + 1 neighbours  all further ahead than a node catches up: follow the least of their rounds
//   b or fewer        are followed at once, and then not again before a pause: they may come back
//                     from a part of the network that went on without this one. Until then the node
//                     goes on with its other neighbours
//   an only one       is always followed, since no other can confirm its round
// If a node has received rounds of b neighbours or fewer, all of them stand for b + 1. Example: b
// is 1, and a node in round 10 catches up 8 rounds. Of neighbours in rounds 40, 30 and 12 it
// follows 30; of 40, 12 and 11 it follows 40, but no second such claim before the pause is over; of
// 40 alone it follows 40. Of the rounds jumped over, those for which there was time count towards
// stop.rounds and the learning rate's schedule; see go_to().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "gossip/edges/scheduler.h"

namespace starling::gossip {

class RoundCounter {
 public:
  // `reach`: Scheduler::Rules::rounds_in_step. `pause`: the least time between two jumps after b
  // neighbours or fewer. Longer: after several splits, parts of a network stay out of step for
  // longer. Shorter: a false round disturbs more rounds. REQUIRES at least one liar.
  RoundCounter(std::uint64_t reach, Duration pause, std::size_t liars)
      : reach_(reach), pause_(pause), liars_(liars) {}

  // Other values of the same from here on.
  void relate(std::uint64_t reach, std::size_t liars) { reach_ = reach, liars_ = liars; }

  std::uint64_t round() const { return round_; }
  // Whether rounds of different nodes are related: a node that is behind follows its neighbours.
  bool are_related() const { return reach_ > 0; }
  // How many earlier rounds were jumped over and do not count. A donor subtracts them from the
  // round that it gives a newcomer.
  std::uint64_t uncounted() const { return uncounted_; }
  // Whether a jump in the last ten seconds added more uncounted rounds than a wrong pace explains.
  bool has_jumped(Time now) const { return jumped_ && now - *jumped_ < kRecently; }

  // Sets the round to `round` if that is later; `uncounted` rounds before it do not count. A node
  // that begins in a later round than 1 has an older model, which others have trained further.
  void start(Time now, std::uint64_t round, std::uint64_t uncounted = 0);
  // Whether this node began in a round after the first.
  bool has_joined() const { return has_joined_; }
  // Where nodes rest between their turns, the mean number of rounds from one turn to the next;
  // otherwise 1. How far apart rounds may be is counted in it.
  void set_rounds_a_turn(std::uint64_t rounds) { a_turn_ = rounds; }
  std::uint64_t rounds_a_turn() const { return a_turn_; }
  // This node begins with a model of that member, and believes that member's round until its own
  // first round has ended: neither a newcomer nor those who joined with it can tell how far the
  // others have gone on since.
  void begin_with_model_of(NodeId donor) { donor_ = donor; }
  bool has_model_of(NodeId peer) const { return donor_ == peer; }
  // The round of the neighbours that this node follows, whether it is ahead or not.
  std::uint64_t follow(Time now, EdgeViews edges);
  // The neighbour furthest ahead, if it is further ahead than a node catches up and too few others
  // confirm its round.
  std::optional<NodeId> alone(EdgeViews edges) const;
  // Goes to that round, which is not before the current one. `pace`: the shortest known time of a
  // round; 0: unknown. Of the rounds between, those count that fit into the time since the last
  // call at that pace, plus the spare ones. Example: of a jump by 500 rounds in the time of 100,
  // 100 and 64 spare ones count, and 336 do not.
  void go_to(Time now, std::uint64_t round, Duration pace);

 private:
  // The spare rounds in total, for a node that began in round 1, and for one that began later.
  // Larger: false rounds end the training earlier. Smaller: a node counts fewer rounds than its
  // neighbours, and trains alone after they have finished.
  static constexpr std::uint64_t kSpare = 64, kSpareOfNewcomer = 1000;
  static constexpr std::uint64_t kUnlikely = 1000;
  static constexpr Duration kRecently = std::chrono::seconds(10);

  std::uint64_t reach() const { return reach_ * a_turn_; }

  std::uint64_t reach_, a_turn_ = 1;
  Duration pause_;
  std::size_t liars_;
  std::uint64_t round_ = 0, uncounted_ = 0, spare_ = kSpare;
  bool has_joined_ = false;      // as of the first start()
  std::optional<NodeId> donor_;  // of the model, in the first round with it
  Time alone_again_{};           // when b neighbours or fewer may be followed again
  Time counted_{};               // when go_to() was called last
  std::optional<Time> jumped_;   // when a jump last left many rounds uncounted
};
}  // namespace starling::gossip
