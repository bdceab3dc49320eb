// Aggregation: how a node averages the vectors of its neighbours, and how many of these may lie.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/masks.h"

namespace starling::optim {

// How vectors are averaged with those of neighbours.
struct MixRule {
  std::string_view name;  // in settings
  std::string_view help;
  bool is_plain = false;    // the mean as usual: nothing speaks against it
  bool is_clipped = false;  // differences count up to the reach
  // Of each number the b largest and the b smallest differences do not count at all; the two ends
  // of an edge then count differently, and the mean of the models does not stay.
  bool is_trimmed = false;
};

// In the order of display. Rows are static; compare them by address.
std::span<const MixRule> mix_rules();
// REQUIRES that there is one: our code names it, not the user.
const MixRule* mix_rule_named(std::string_view name);

// Whether nodes sum slices of their vectors for each other; see combine/slices.h.
struct Slicing {
  bool is_on = false;  // without a compressor or parts
  // What a node gives is masked, so that only a sum can be read; see combine/masked_parts.h. The
  // caller makes the masks, for one trainer alone.
  bool is_masked = false;
  std::shared_ptr<Masks> masks = {};
  // With masks: the part of a full averaging step that a model moves (Needs::mixing_share).
  double share = 1;
};

struct Aggregation {
  const MixRule* rule = mix_rule_named("mean");
  std::size_t liars = 1;  // b
  Slicing slicing = {};
};

}  // namespace starling::optim
