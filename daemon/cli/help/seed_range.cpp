#include "daemon/cli/help/seed_range.h"

#include <optional>
#include <string>

#include "base/text.h"

namespace starling::daemon {

Result<SeedRange> read_seeds(const CommandLine& line, std::uint64_t seed) {
  const auto text = line.value("seeds");
  if (!text) return SeedRange{seed, seed};
  const std::size_t dots = text->find("..");
  const auto first = parse_integer(text->substr(0, dots));
  const auto last =
      dots == std::string::npos ? std::nullopt : parse_integer(text->substr(dots + 2));
  if (!first || !last || *first < 0 || *last < *first)
    return fail("seeds = \"{}\": expected A..B, whole numbers from 0 with A <= B", *text);
  return SeedRange{static_cast<std::uint64_t>(*first), static_cast<std::uint64_t>(*last)};
}

}  // namespace starling::daemon
