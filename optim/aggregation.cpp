#include "optim/aggregation.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace starling::optim {

std::span<const MixRule> mix_rules() {
  static constexpr std::array kRules = {
      MixRule{.name = "mean", .help = "every neighbour counts in full", .is_plain = true},
      MixRule{.name = "clip",
              .help = "the farthest neighbours, as many as exchange.liars, count as if they lay "
                      "at the next one's distance; the mean of all models stays",
              .is_clipped = true},
      MixRule{.name = "trim",
              .help = "of every number the largest and the smallest values, as many as "
                      "exchange.liars, do not count; the mean of all models does not stay",
              .is_trimmed = true},
  };
  return kRules;
}

const MixRule* mix_rule_named(std::string_view name) {
  const auto found = std::ranges::find(mix_rules(), name, &MixRule::name);
  ENSURE(found != mix_rules().end(), "a rule of that name");
  return &*found;
}

}  // namespace starling::optim
