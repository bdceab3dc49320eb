#include "models/data/columns/truth.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace starling::models {
namespace {

constexpr std::array<std::string_view, 12> kTrue{"1",   "true", "t",         "yes",  "y",    "ja",
                                                 "oui", "si",   "s\xC3\xAD", "wahr", "vrai", "on"};
constexpr std::array<std::string_view, 10> kFalse{"0",    "false",  "f",    "no",  "n",
                                                  "nein", "falsch", "faux", "non", "off"};

}  // namespace

std::optional<bool> truth_of(std::string_view word) {
  constexpr std::size_t kLongest = 6;
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  std::string small(word);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(kTrue, small) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, small) != kFalse.end()) return false;
  return std::nullopt;
}

}  // namespace starling::models
