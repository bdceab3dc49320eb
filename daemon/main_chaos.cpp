#include "daemon/main_chaos.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "daemon/exit_code.h"
#include "sim/soak.h"

namespace starling::daemon {
namespace {

constexpr std::uintmax_t kScenarioBytesLimit = 16 << 20;

struct Setup {
  const sim::Options& options;
  const TrainerMaker& make_trainer;
};

struct Seeds {
  std::uint64_t first = 1, last = 1;
};

Result<Seeds> read_seeds(const CommandLine& line, std::uint64_t seed) {
  const auto text = line.value("seeds");
  if (!text) return Seeds{seed, seed};
  const std::size_t dots = text->find("..");
  const auto first = parse_integer(text->substr(0, dots));
  const auto last =
      dots == std::string::npos ? std::nullopt : parse_integer(text->substr(dots + 2));
  if (!first || !last || *first < 0 || *last < *first)
    return fail("seeds = \"{}\": expected A..B, whole numbers from 0 with A <= B", *text);
  return Seeds{static_cast<std::uint64_t>(*first), static_cast<std::uint64_t>(*last)};
}

Result<sim::Scenario> read_scenario(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return fail("scenario = \"{}\": cannot be read", path);
  const auto bytes = static_cast<std::uintmax_t>(file.tellg());
  if (bytes > kScenarioBytesLimit)
    return fail("scenario = \"{}\": {} bytes; at most {} are read", path, bytes,
                kScenarioBytesLimit);
  file.seekg(0);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto scenario = sim::parse_scenario(text);
  if (!scenario) return fail("{}: {}", path, scenario.error().text);
  return *std::move(scenario);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_shrunk(const CommandLine& line, const sim::TrialOptions& trial, const Setup& setup,
                  const sim::Verdict& failure) {
  if (!line.has("shrink")) return;
  const sim::Verdict shorter = sim::shrink(trial, setup.make_trainer, failure);
  fmt::print("# {} of {} faults make it fail:\n# {}\n{}", shorter.scenario.faults.size(),
             failure.scenario.faults.size(), sim::to_text(shorter), sim::to_text(shorter.scenario));
}

int play_one(const CommandLine& line, const Setup& setup, const sim::Scenario& scenario) {
  const sim::TrialOptions trial{.world = setup.options};
  sim::Timeline timeline;
  const sim::Verdict verdict = sim::try_scenario(trial, setup.make_trainer, scenario,
                                                 line.has("timeline") ? &timeline : nullptr);
  fmt::print("{}{}\nFaults: {}.\n", timeline.text(), sim::to_text(verdict),
             sim::to_text(verdict.counts));
  if (verdict.passed()) return kExitDone;
  print_shrunk(line, trial, setup, verdict);
  return kExitFailed;
}

int play_many(const CommandLine& line, const Setup& setup, const Seeds& seeds) {
  const sim::SoakOptions soak{.trial = {.world = setup.options},
                              .first_seed = seeds.first,
                              .last_seed = seeds.last,
                              .threads = std::max(1U, std::thread::hardware_concurrency())};
  const auto started = std::chrono::steady_clock::now();
  const sim::SoakReport report = sim::soak(soak, setup.make_trainer);
  fmt::print("{}{:.1f} s of real time on {} threads.\n", sim::to_text(report),
             seconds_since(started), soak.threads);
  if (report.failures.empty()) return kExitDone;
  print_shrunk(line, soak.trial, setup, report.failures.front());
  return kExitFailed;
}

}  // namespace

bool is_chaos(const CommandLine& line) {
  return line.has("chaos") || line.has("seeds") || line.has("scenario");
}

int simulate_chaos(const CommandLine& line, const sim::Options& options,
                   const TrainerMaker& make_trainer) {
  const Setup setup{options, make_trainer};
  if (line.has("json")) return wrong_usage("--json is not for --chaos, --seeds and --scenario");
  if (const auto path = line.value("scenario")) {
    if (line.has("seeds") || line.has("chaos"))
      return wrong_usage("--scenario brings its own faults: leave out --chaos and --seeds");
    const auto scenario = read_scenario(*path);
    return scenario ? play_one(line, setup, *scenario) : wrong_usage(scenario.error().text);
  }
  const auto seeds = read_seeds(line, options.seed);
  if (!seeds) return wrong_usage(seeds.error().text);
  if (seeds->first < seeds->last) return play_many(line, setup, *seeds);
  return play_one(line, setup,
                  sim::draw_scenario(seeds->first, options.nodes, options.phases.chaos));
}

}  // namespace starling::daemon
