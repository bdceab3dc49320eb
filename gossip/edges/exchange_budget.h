// ExchangeBudget: keeps a node within its share s of time for the exchange, if the nodes choose the
// encoding of vectors, the number of local steps in a round, or both: first the encoding, then the
// steps. Of a round, with vectors shortened f times, let L be the seconds in which the last vector
// was in transit, minus those of an empty message; E the seconds spent averaging, encoding, and
// waiting while that vector was in transit; c the rest of the round per step: computing,
// evaluating, and waiting for neighbours that compute or whose messages were lost; h the steps of a
// round, 1 if the nodes choose. A node wishes for the least shortening F and number of steps H with
//   L f / F <= s / (1 - s) h c ,   E - L + L f / F <= s / (1 - s) H c .
// All are medians of recent rounds. All nodes follow the combined wishes (members/wishes.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edges/patience.h"
#include "gossip/options.h"
#include "gossip/wire/member.h"

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

  bool chooses_steps() const { return chooses_steps_; }
  bool chooses_encoding() const { return !encodings_.empty(); }
  bool chooses() const { return chooses_steps() || chooses_encoding(); }

  struct Round {
    std::size_t steps = 0;       // local steps, above 0
    std::size_t shortening = 1;  // how many times the vectors are shortened
    Duration whole{};
    Duration exchange{};  // the part of `whole` for the exchange
    Duration transfer{};  // the part of `exchange` in which the last vector was in transit
  };
  void add(const Round& round);
  // This node's wishes, powers of two; 0 before enough rounds are measured.
  Wishes wishes() const;

  // Another number of local steps: a fixed one, or what the nodes choose from here on.
  void take(const optim::StepCount& steps);
  // Takes the combined wishes of the members. Returns whether anything changed.
  bool follow(const Wishes& wished);
  // The values for the next round. A value that the nodes choose is 1 at first.
  std::size_t steps() const { return steps_; }
  std::size_t shortening() const { return shortening_; }
  // For people: why this number of steps, and why this encoding; empty if a setting fixes it.
  std::string steps_reason() const;
  std::string encoding_reason() const;
  // The current values for people: "i8 vectors, 4 local steps a round".
  std::string text() const;

 private:
  struct Wish {
    std::optional<double> value;
    void consider(double need, double most);
  };
  double shortening_most() const;
  const optim::EncodingChoice& encoding_for(double shortening) const;
  void consider();

  bool chooses_steps_;
  std::vector<optim::EncodingChoice> encodings_;
  double share_;  // s
  Recent exchanges_, transfers_, rests_;
  std::size_t measured_steps_ = 0, measured_shortening_ = 0;  // the values in the rounds measured
  std::size_t rounds_ = 0;                                    // number of rounds measured
  double exchange_s_ = 0, transfer_s_ = 0, step_s_ = 0;
  Wish steps_wish_, shortening_wish_;
  std::size_t steps_, shortening_ = 1;
};

}  // namespace starling::gossip
