// Lies: what a valid member of a cluster may send in place of its vector, its record or its part at
// the end of the run, for trials of what contains it (exchange.aggregation, exchange.liars). It
// knows all vectors of all others, and tells each of its neighbours something else.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/payload.h"
#include "gossip/wire/message.h"

namespace starling::sim {

// What a liar knows when it sends a vector. All vectors are of one size.
struct LieScene {
  using Vector = std::vector<double>;

  std::span<const double> own;  // what it would send if it were honest
  std::span<const double> to;   // the last vector of the receiver
  // Of the last vectors of the honest nodes: number by number their mean, that a round ago, and
  // their deviation.
  std::span<const double> mean, mean_before, deviation;
  // The sum of the honest nodes' vectors, each times its entry of the eigenvector of the second
  // smallest eigenvalue of the graph's Laplacian; times the receiver's entry. How the two halves
  // differ that the graph joins worst.
  std::span<const double> split;
  std::span<const double> first;  // the first vector that it sent
  std::size_t sent = 0;           // vectors before this one
};

// A way to lie.
struct Lie {
  std::string_view name;
  std::string_view help;
  // What is sent, of any size; null: the truth.
  LieScene::Vector (*vector)(const LieScene&) = nullptr;
  std::size_t rounds_ahead = 0;  // of its true round
  // What it tells of itself (without keys, which sign that), and at the end of the run; null: the
  // truth.
  void (*record)(gossip::Member& own) = nullptr;
  void (*tally)(gossip::Tally& message, Payload& payload) = nullptr;

  bool is_told() const { return vector || record || tally; }
};

// In the order of display. Rows are static.
std::span<const Lie> lies();
// REQUIRES that there is one: our code names it, not the user.
const Lie* lie_named(std::string_view name);

}  // namespace starling::sim
