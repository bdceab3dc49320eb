// RateRatio: this node's learning rate divided by a neighbour's, from the spans that both ends send
// with their vectors: the sums of the learning rates of the steps since the previous pair. Where
// nodes take equally many steps a round, only different rates make spans differ.
#pragma once

namespace starling::gossip {

class RateRatio {
 public:
  // Takes the spans of two vectors of one round that were averaged.
  void take(double own, double theirs) {
    const double ratio = own > 0 && theirs > 0 ? own / theirs : 1;
    const bool is_far = ratio >= kFactor || ratio * kFactor <= 1;
    const bool goes_on = pairs_ > 0 && (ratio > 1) == (ratio_ > 1);
    pairs_ = !is_far ? 0 : goes_on ? pairs_ + 1 : 1;
    ratio_ = ratio;
  }
  // The ratio if it has been far from 1 for kPairs pairs, else 1.
  double lasting() const { return pairs_ >= kPairs ? ratio_ : 1; }

 private:
  // Rates that differ by kFactor in kPairs pairs in a row are reported. Smaller: a quickly changing
  // schedule or a late vector is reported too.
  static constexpr double kFactor = 2;
  static constexpr int kPairs = 20;

  double ratio_ = 1;  // the ratio of the last pair
  int pairs_ = 0;     // pairs in a row that were far apart, on the same side
};

}  // namespace starling::gossip
