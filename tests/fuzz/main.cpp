// What libFuzzer calls. Its flags begin with one dash, those of this program with two:
//   fuzz_targets --list                              the names of all targets
//   fuzz_targets --target=NAME --seeds=DIR FLAGS DIR writes the seeds into DIR, then fuzzes
#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/content_hash.h"
#include "tests/fuzz/target.h"

namespace {

using namespace starling;
using namespace starling::fuzz;

const Target* chosen = nullptr;

void write_seeds(const Target& target, std::string_view folder) {
  for (const std::string& seed : target.seeds())
    std::ofstream(fmt::format("{}/seed-{:016x}", folder, content_hash(bytes_of(seed))),
                  std::ios::binary)
        << seed;
}

// The value of --NAME=VALUE.
std::string_view value_of(int count, char** values, std::string_view name) {
  for (int k = 1; k < count; ++k)
    if (const std::string_view word = values[k]; word.starts_with(name))
      return word.substr(name.size());
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** values);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int* count, char*** values) {
  if (*count > 1 && std::string_view((*values)[1]) == "--list") {
    for (const Target& target : targets()) fmt::print("{} {}\n", target.name, target.bytes_limit);
    std::exit(0);
  }
  chosen = find_target(value_of(*count, *values, "--target="));
  if (!chosen) {
    fmt::print(stderr, "fuzz_targets: expected --target=NAME; --list prints the names\n");
    std::exit(2);
  }
  const std::string_view folder = value_of(*count, *values, "--seeds=");
  if (!folder.empty()) write_seeds(*chosen, folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run(std::as_bytes(std::span(data, size)));
  return 0;
}
