// RateRatio: this node's learning rate beside a neighbour's, by the spans that both ends told with
// their vectors: the learning rates of the steps since the pair before, added up. Where nodes take
// as many steps a round, their rates alone make spans differ.
#pragma once

namespace starling::gossip {

class RateRatio {
 public:
  // Of two vectors of one round that were averaged.
  void take(double own, double theirs) {
    const double ratio = own > 0 && theirs > 0 ? own / theirs : 1;
    const bool is_far = ratio >= kFactor || ratio * kFactor <= 1;
    const bool goes_on = pairs_ > 0 && (ratio > 1) == (ratio_ > 1);
    pairs_ = !is_far ? 0 : goes_on ? pairs_ + 1 : 1;
    ratio_ = ratio;
  }
  // The own rate over the neighbour's where they are far apart for long, else 1.
  double lasting() const { return pairs_ >= kPairs ? ratio_ : 1; }

 private:
  // Rates that differ by that factor in so many pairs in a row are told. Fewer: a schedule that
  // changes quickly, or a vector that was late, is told too.
  static constexpr double kFactor = 2;
  static constexpr int kPairs = 20;

  double ratio_ = 1;  // of the last pair
  int pairs_ = 0;     // so many in a row were far apart, on one side
};

}  // namespace starling::gossip
