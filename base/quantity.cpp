#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace starling {
namespace {

constexpr double kBytesPerSecondLeast = 1, kBytesPerSecondMost = 1e12, kBytesMost = 1e18;

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 10> kUnits = {{{"bit", 1.0 / 8},
                                          {"kbit", 1e3 / 8},
                                          {"mbit", 1e6 / 8},
                                          {"gbit", 1e9 / 8},
                                          {"B", 1},
                                          {"kB", 1e3},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12}}};

std::optional<double> bytes_of(std::string_view text, std::string_view unit_without_name) {
  const std::size_t split = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number(text.substr(0, split));
  const std::string_view name = split < text.size() ? text.substr(split) : unit_without_name;
  const auto unit = std::ranges::find(kUnits, name, &Unit::name);
  if (!number || unit == kUnits.end()) return std::nullopt;
  return *number * unit->bytes;
}

}  // namespace

Result<double> parse_bytes(std::string_view text) {
  const auto bytes = bytes_of(text, "B");
  if (!bytes) return fail("\"{}\": expected a number and B, kB, MB, GB or TB, as 1.5GB", text);
  if (!(*bytes > 0 && *bytes <= kBytesMost)) return fail("\"{}\": expected 1B to 1000000TB", text);
  return *bytes;
}

Result<double> parse_bandwidth(std::string_view text) {
  const auto bytes_per_s = bytes_of(text, "");
  if (!bytes_per_s)
    return fail(
        "\"{}\": expected a number and bit, kbit, mbit, gbit, B, kB, MB or GB, as 100mbit or "
        "12.5MB; a second is meant",
        text);
  if (!(*bytes_per_s >= kBytesPerSecondLeast && *bytes_per_s <= kBytesPerSecondMost))
    return fail("\"{}\": expected 8bit to 1000GB", text);
  return *bytes_per_s;
}

}  // namespace starling
