// ExchangeBudget: keeps a node within its share s of time for the exchange, if the nodes choose the
// encoding of vectors, the number of local steps in a round, or both: first the encoding, then the
// steps. Of a round, let L be the seconds in which the last vector was under way, without those of
// an empty message, with vectors shortened f times; E those spent averaging, encoding, and waiting
// while that vector was under way; c the rest of the round per step: computing, evaluating, and
// waiting for neighbours that compute or whose messages were lost; h the steps of a round, 1
// if the nodes choose. A node wishes for the least shortening F and number of steps H with
//   L f / F <= s / (1 - s) h c ,   E - L + L f / F <= s / (1 - s) H c .
// All are medians of recent rounds. All nodes take what members/wishes.h makes of the wishes of all
// members.
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
  // `encodings` in order, from 1 on; none: a setting fixes the encoding.
  ExchangeBudget(const optim::StepCount& steps, std::vector<optim::EncodingChoice> encodings)
      : chooses_steps_(!steps.fixed),
        encodings_(std::move(encodings)),
        share_(steps.exchange_share),
        steps_(steps.fixed.value_or(1)) {}

  bool chooses_steps() const { return chooses_steps_; }
  bool chooses_encoding() const { return !encodings_.empty(); }
  bool chooses() const { return chooses_steps() || chooses_encoding(); }

  struct Round {
    std::size_t steps = 0;       // not 0
    std::size_t shortening = 1;  // of the vectors
    Duration whole{};
    Duration exchange{};  // of that, for the exchange
    Duration transfer{};  // of that, in which the last vector was under way
  };
  void add(const Round& round);
  // Powers of two. Nothing before enough rounds are measured.
  Wishes wishes() const;

  // Takes what the members wish together. Returns whether anything changed.
  bool follow(const Wishes& wished);
  // For the next round. What the nodes choose is 1 at first.
  std::size_t steps() const { return steps_; }
  std::size_t shortening() const { return shortening_; }
  // For people: why this number of steps, and why this encoding; empty if a setting fixes it.
  std::string steps_reason() const;
  std::string encoding_reason() const;
  // What holds now, for people: "i8 vectors, 4 local steps a round".
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
  std::size_t measured_steps_ = 0, measured_shortening_ = 0;  // of the rounds that these are of
  std::size_t rounds_ = 0;                                    // that these are of
  double exchange_s_ = 0, transfer_s_ = 0, step_s_ = 0;
  Wish steps_wish_, shortening_wish_;
  std::size_t steps_, shortening_ = 1;
};

}  // namespace starling::gossip
