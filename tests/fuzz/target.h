// Target: a parser of bytes from outside, as a function that libFuzzer (main.cpp) and the short
// form (replay.cpp) call. A law that an input breaks ends the process, as a failed ENSURE or a
// sanitizer does. To add a parser of bytes from outside: its target in a file of tests/fuzz/.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"

namespace starling::fuzz {

using Bytes = std::span<const std::byte>;

struct Target {
  std::string_view name;
  // Takes any bytes. What it keeps between two calls must not change what it does.
  void (*run)(Bytes input) = nullptr;
  // Valid inputs, made by the code that writes what the target reads. The same at every call.
  std::vector<std::string> (*seeds)() = nullptr;
  std::size_t bytes_limit = 4096;  // of an input that the fuzzer makes
  std::size_t mutations = 1500;    // in the short form: what takes a tenth of a second or two
};

// One function for each file of targets.
std::vector<Target> wire_targets();
std::vector<Target> codec_targets();
std::vector<Target> http_targets();
std::vector<Target> setting_targets();
std::vector<Target> table_targets();
std::vector<Target> file_targets();
std::vector<Target> key_targets();
std::vector<Target> attach_targets();
std::vector<Target> document_targets();
std::vector<Target> cluster_targets();

// All of them; each name once.
const std::vector<Target>& targets();
// Null if there is none of that name.
const Target* find_target(std::string_view name);

inline void expect_reason(const Error& error) {
  ENSURE(!error.text.empty(), "what is refused is refused for a reason");
}
inline Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace starling::fuzz
