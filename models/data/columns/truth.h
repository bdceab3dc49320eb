// truth: words for true and false, as programs and people write them.
#pragma once

#include <optional>
#include <string_view>

namespace starling::models {

// In any case: TRUE, t, 1, yes, y, ja, oui, si, … and false, f, 0, no, n, nein, …; none: neither.
std::optional<bool> truth_of(std::string_view word);

}  // namespace starling::models
