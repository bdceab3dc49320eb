// ExchangeBudget: keeps a node within its share s of time for the exchange, if the nodes choose the
// encoding of vectors, the number of local steps in a round, or both: first the encoding, edge by
// edge, then the steps. Let E be the seconds of a round spent averaging, encoding, and waiting
// while the last vector was in transit; c the rest of the round per step: computing, evaluating,
// and waiting for neighbours that compute or whose messages were lost; h the steps of a round, 1 if
// the nodes choose; T the seconds in which a vector that is not shortened would be in transit over
// an edge. The edge gets the least shortening F, and the node wishes for the least number of steps
// H, with
//   T / F <= s / (1 - s) h c ,   E <= s / (1 - s) H c .
// E and c are medians of recent rounds. All nodes follow the combined wishes of steps
// (members/wishes.h); the ends of an edge need not agree on an encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/edges/patience.h"
#include "gossip/options.h"

namespace starling::gossip {

// The most local steps of a round. Larger: a fleet with a very slow link stays within its share,
// but a false wish makes rounds longer. Smaller: such a fleet waits for its link.
inline constexpr std::size_t kLocalStepsMost = 1024;

class ExchangeBudget {
 public:
  // `encodings`: by ascending shortening, from 1; empty: a setting fixes the encoding.
  ExchangeBudget(const optim::StepCount& steps, std::vector<optim::EncodingChoice> encodings)
      : chooses_steps_(!steps.fixed),
        encodings_(std::move(encodings)),
        share_(steps.exchange_share),
        steps_(steps.fixed.value_or(1)) {}

  bool chooses_encodings() const { return !encodings_.empty(); }

  struct Round {
    std::size_t steps = 0;  // local steps, above 0
    Duration whole{};
    Duration exchange{};  // the part of `whole` for the exchange
  };
  // An edge that carries this node's vectors.
  struct Edge {
    NodeId peer;
    double transfer_s = 0;  // T; 0: not known
  };
  // A round has ended. `edges`: where the nodes choose the encodings. Returns whether the next one
  // encodes vectors otherwise.
  bool add(const Round& round, std::span<const Edge> edges);
  // How many local steps this node wishes all to take: a power of two; 0 before enough rounds are
  // measured, or if a setting fixes it.
  std::uint64_t wished_steps() const {
    return static_cast<std::uint64_t>(steps_wish_.value.value_or(0));
  }

  // Another number of local steps: a fixed one, or what the nodes choose from here on.
  void take(const optim::StepCount& steps);
  // Takes the combined wish of the members; 0: there is none. Returns whether the steps changed.
  bool follow(std::uint64_t wished_steps);
  // For the next round. A value that the nodes choose is 1 at first.
  std::size_t steps() const { return steps_; }
  std::size_t shortening(NodeId peer) const;
  // The encoding of the vectors to that peer; empty if a setting fixes it.
  std::string_view encoding(NodeId peer) const;
  // For people: why this number of steps, and why these encodings; empty if a setting fixes them.
  std::string steps_reason() const;
  std::string encoding_reason() const;
  // For people: the steps that the nodes choose ("4 local steps a round"), and the encodings
  // ("i4 vectors over 1 edge, f32 vectors over 3").
  std::string steps_text() const;
  std::string encodings_text() const;

 private:
  struct Wish {
    std::optional<double> value;
    void consider(double need, double most);
  };
  const optim::EncodingChoice& encoding_for(double shortening) const;
  double allowed_s() const;
  bool shorten(std::span<const Edge> edges);

  bool chooses_steps_;
  std::vector<optim::EncodingChoice> encodings_;
  double share_;  // s
  Recent exchanges_, rests_;
  std::size_t measured_steps_ = 0;  // of the rounds measured; 0: the next one is not measured
  std::size_t rounds_ = 0;          // number of rounds measured
  double exchange_s_ = 0, step_s_ = 0;
  double slowest_s_ = 0;  // the largest T; 0: none is known
  Wish steps_wish_;
  std::map<NodeId, Wish> edges_;  // shortenings
  std::size_t steps_;
};

}  // namespace starling::gossip
