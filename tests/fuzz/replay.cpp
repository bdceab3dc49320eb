// The short form, without libFuzzer: every kept input and every seed, and inputs that are made of
// them by chance, for every target.
//   fuzz_replay CORPUS [TARGET ...]    CORPUS/TARGET/ holds kept inputs
//   fuzz_replay --file FILE TARGET     that one alone
// FUZZ_SEED in the environment is another chance, FUZZ_MUTATIONS another number of inputs. The
// input that ends the process is left in the file fuzz-finding.

// The helpers of test_cluster are compiled with doctest among their precompiled headers.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/ids.h"
#include "base/prng.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

// Of a sanitizer's runtime, where there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using namespace starling;
using namespace starling::fuzz;

// For the handler of what ends the process.
std::string_view target_name, input_text;

void keep_input() {
  if (target_name.empty()) return;
  fmt::print(stderr, "fuzz_replay: target {} ends with the {} bytes in fuzz-finding\n", target_name,
             input_text.size());
  if (std::FILE* file = std::fopen("fuzz-finding", "wb")) {
    std::fwrite(input_text.data(), 1, input_text.size(), file);
    std::fclose(file);
  }
  target_name = {};
}

void keep_input_of_abort(int) {
  keep_input();
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In the order of their names.
std::vector<std::string> kept_inputs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> inputs;
  for (const auto& path : paths) inputs.push_back(read(path));
  return inputs;
}

void run(const Target& target, const std::string& input) {
  // In memory of its own size, so that a sanitizer sees what is read past the end.
  const std::vector<std::byte> bytes(bytes_of(input).begin(), bytes_of(input).end());
  input_text = input;
  target.run(bytes);
}

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::optional<std::uint64_t>(std::strtoull(text, nullptr, 10)) : std::nullopt;
}

void replay(const Target& target, const std::filesystem::path& corpus, std::uint64_t seed) {
  const auto begun = std::chrono::steady_clock::now();
  target_name = target.name;
  std::vector<std::string> inputs = target.seeds();
  const std::size_t made = inputs.size();
  std::ranges::move(kept_inputs(corpus / target.name), std::back_inserter(inputs));
  ENSURE(made > 0, "a target has seeds");
  for (const std::string& input : inputs) run(target, input);
  run(target, "");
  Prng prng = Prng::derive(seed, stable_hash(target.name));
  const std::size_t mutations = number_in("FUZZ_MUTATIONS").value_or(target.mutations);
  for (std::size_t k = 0; k < mutations; ++k)
    run(target, mutated(prng, inputs, target.bytes_limit));
  target_name = {};
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  fmt::print("{:<16} {:>6} seeds {:>4} kept {:>8} mutated {:>8.2f} s\n", target.name, made,
             inputs.size() - made, mutations, spent.count());
}

const Target& known(std::string_view name) {
  if (const Target* target = find_target(name)) return *target;
  fmt::print(stderr, "fuzz_replay: there is no target \"{}\"\n", name);
  std::exit(2);
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> words(values + 1, values + count);
  if (words.empty()) return fmt::print(stderr, "fuzz_replay: expected a folder of inputs\n"), 2;
  std::signal(SIGABRT, keep_input_of_abort);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_input);
  if (words[0] == "--file" && words.size() == 3) {
    target_name = words[2];
    run(known(words[2]), read(words[1]));
    return 0;
  }
  const std::uint64_t seed = number_in("FUZZ_SEED").value_or(1);
  fmt::print("FUZZ_SEED={}\n", seed);
  std::vector<const Target*> wanted;
  for (std::size_t k = 1; k < words.size(); ++k) wanted.push_back(&known(words[k]));
  if (wanted.empty())
    for (const Target& target : targets()) wanted.push_back(&target);
  for (const Target* target : wanted) replay(*target, words[0], seed);
  return 0;
}
