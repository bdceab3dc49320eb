// Damage: what happens to the bytes of a frame on its way. A flipped byte must be refused by a
// checksum; a message of which one field is wrong and whose checksum is right (memory that fails, a
// program that lies) is believed as far as it can be believed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "base/prng.h"
#include "gossip/wire/transfer.h"
#include "sim/faults.h"

namespace starling::sim {

struct DamageOptions {
  double corrupt = 0;  // probability that one byte of a frame is flipped
  double forge = 0;    // probability that one field of its header is changed
};

class Damage {
 public:
  enum class Done { nothing, corrupted, forged };

  explicit Damage(std::uint64_t seed) : prng_(Prng::derive(seed, stable_hash("damage"))) {}

  // May be changed while frames are under way; those are not touched.
  DamageOptions& options() { return options_; }
  // Changes headers beside chance, such as those of one sender; returns whether it changed one.
  // Null: nothing does.
  using Liar = std::function<bool(gossip::Header& header)>;
  void set_liar(Liar liar) { liar_ = std::move(liar); }
  // Of a frame that is sent now. What is done to it is counted.
  Done meet(gossip::Frame& frame);
  // A forged frame travels between two nodes.
  void note_forged(std::size_t a, std::size_t b) { forged_.insert(std::minmax(a, b)); }
  // Whether one has, either way.
  bool has_forged(std::size_t a, std::size_t b) const {
    return forged_.contains(std::minmax(a, b));
  }
  // Of frames.
  const FaultCounts& counts() const { return counts_; }

 private:
  void corrupt(gossip::Frame& frame);
  // Whether the header could be read and `change` changed it.
  static bool forge(gossip::Frame& frame, const Liar& change);

  DamageOptions options_;
  Liar liar_;
  Prng prng_;
  FaultCounts counts_;
  std::set<std::pair<std::size_t, std::size_t>> forged_;  // nodes, the lesser first
};

}  // namespace starling::sim
