// MixingMeter: measures the factor by which a round of averaging shrinks disagreement, with lost
// and late vectors, to compare with the second eigenvalue modulus of the weights. A round calls
// begin(), mix() for each average, and end().
//
// Every vector carries one number more, its probe. A node averages probes exactly as it averages
// parameters, and no gradient moves them: so they obey p(k+1) = W p(k), and the differences of
// neighbours shrink as lambda^k, where lambda is the modulus of the slowest remaining mode. All
// probes are drawn anew, 0 or 1, in the first round of every kRoundsAnEpoch; pairs of vectors of
// different epochs are left out. If the rounds of neighbours are not in step there is no rate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace starling::gossip {

class MixingMeter {
 public:
  // Longer: a slow network is measured more exactly, but a change shows later.
  static constexpr std::uint64_t kRoundsAnEpoch = 256;

  // `share`: optim::Needs::mixing_share.
  explicit MixingMeter(NodeId self, double share = 1) : self_(self), share_(share) {}

  // The probe of this node's vector of `round`, in parts of kProbeOne. Rounds never decrease.
  std::uint64_t begin(std::uint64_t round);
  // Records an average with weight `weight` of two vectors offered with these probes.
  struct Offered {
    std::uint64_t round = 0;
    std::uint64_t probe = 0;
  };
  void mix(double weight, const Offered& own, const Offered& theirs);
  // Applies the averages so far. Returns the probe of a further vector of the round.
  std::uint64_t end();

  // The factor per round on the differences to the neighbours, in the last epoch with enough
  // averages. Nothing before.
  std::optional<double> rate() const { return rate_; }

 private:
  struct Point {
    std::uint64_t round;
    double squares;
  };
  static double slope(const std::vector<Point>& points);
  static std::uint64_t epoch_of(std::uint64_t round) { return round / kRoundsAnEpoch; }
  void measure();

  NodeId self_;
  double share_;
  std::optional<std::uint64_t> epoch_;
  double probe_ = 0;
  double change_ = 0;      // of the probe, by the averages since begin()
  double squares_ = 0;     // sum over these averages of weight times squared difference
  bool is_mixed_ = false;  // an average was recorded since begin()
  std::uint64_t round_ = 0;
  std::vector<Point> points_;  // rounds of this epoch with averages
  std::optional<double> rate_;
};

}  // namespace starling::gossip
