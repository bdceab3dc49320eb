#include "daemon/cli/simulate/main_chaos.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "base/command_line.h"
#include "base/text.h"
#include "daemon/cli/simulate/main_verdict.h"
#include "daemon/cli/terminal/progress_line.h"
#include "daemon/process/cores.h"
#include "sim/soak.h"

namespace starling::daemon {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kScenarioBytesLimit = 16 << 20;

struct ChaosSetup {
  const sim::Options& options;
  const TrainerMaker& make_trainer;
};

Result<sim::Scenario> read_scenario_file(const std::string& path) {
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

void print_shrunk(const CommandLine& line, const ChaosSetup& setup, const sim::Verdict& failure) {
  if (!line.has("shrink")) return;
  const sim::Verdict shorter = sim::shrink(setup.options, setup.make_trainer, failure);
  fmt::print("# {} of {} faults make it fail:\n# {}\n{}", shorter.scenario.faults.size(),
             failure.scenario.faults.size(), sim::to_text(shorter), sim::to_text(shorter.scenario));
}

// Prints the document, with the first failure cut down where that is wanted.
void print_json(Json document, const CommandLine& line, const ChaosSetup& setup,
                const sim::Verdict* failure) {
  if (failure && line.has("shrink"))
    document["shrunk"] = failure_json(sim::shrink(setup.options, setup.make_trainer, *failure));
  fmt::print("{}\n", document.dump(2));
}

int play_one(const CommandLine& line, const ChaosSetup& setup, const sim::Scenario& scenario) {
  const auto started = std::chrono::steady_clock::now();
  const bool is_json = line.has("json");
  sim::Timeline timeline;
  gossip::Summary summary;
  const sim::Verdict verdict =
      sim::try_scenario(setup.options, setup.make_trainer, scenario,
                        line.has("timeline") ? &timeline : nullptr, is_json ? &summary : nullptr);
  if (is_json) {
    summary.wall_s = seconds_since(started);
    Json document = chaos_json(verdict, summary);
    if (line.has("timeline")) document["timeline"] = lines_json(timeline.text());
    print_json(std::move(document), line, setup, verdict.passed() ? nullptr : &verdict);
  } else {
    fmt::print("{}{}\nFaults: {}.\n", timeline.text(), sim::to_text(verdict),
               sim::to_text(verdict.counts));
    if (!verdict.passed()) print_shrunk(line, setup, verdict);
  }
  return verdict.passed() ? kExitDone : kExitFailed;
}

sim::SoakOptions soak_of(const sim::Options& options, const SeedRange& seeds) {
  return {.world = options,
          .first_seed = seeds.first,
          .last_seed = seeds.last,
          .threads = useful_threads(count_cores().usable)};
}

int play_many(const CommandLine& line, const ChaosSetup& setup, const SeedRange& seeds) {
  ProgressLine progress;
  const std::uint64_t count = seeds.last - seeds.first + 1;
  sim::SoakOptions soak = soak_of(setup.options, seeds);
  soak.told = [&](std::uint64_t done, const std::vector<std::uint64_t>& failed) {
    progress.tell([&] {
      return fmt::format("{} of {} seeds are done, {} failed{}{}", done, count, failed.size(),
                         failed.empty() ? "" : ": ", fmt::join(failed, ", "));
    });
  };
  const auto started = std::chrono::steady_clock::now();
  const sim::SoakReport report = sim::soak(soak, setup.make_trainer);
  progress.clear();
  const bool failed = !report.failures.empty();
  if (line.has("json")) {
    Json document = chaos_json(report);
    document["wall_s"] = seconds_since(started);
    print_json(std::move(document), line, setup, failed ? &report.failures.front() : nullptr);
  } else {
    fmt::print("{}{:.1f} s of real time on {} threads.\n", sim::to_text(report),
               seconds_since(started), soak.threads);
    if (failed) print_shrunk(line, setup, report.failures.front());
  }
  return failed ? kExitFailed : kExitDone;
}

}  // namespace

bool is_chaos(const CommandLine& line) {
  return line.has("chaos") || line.has("scenario");
}

Result<std::shared_ptr<const sim::Scenario>> read_scenario(const CommandLine& line) {
  const auto path = line.value("scenario");
  if (!path) return nullptr;
  if (line.has("seeds") || line.has("chaos"))
    return fail("--scenario brings its own faults: leave out --chaos and --seeds");
  TRY(sim::Scenario scenario, read_scenario_file(*path));
  const auto nodes = line.value("nodes");
  if (nodes && parse_integer(*nodes) != static_cast<std::int64_t>(scenario.nodes))
    return fail("-n {}: {} says nodes {}; leave out -n", *nodes, *path, scenario.nodes);
  return std::make_shared<const sim::Scenario>(std::move(scenario));
}

int simulate_chaos(const CommandLine& line, const sim::Options& options,
                   const TrainerMaker& make_trainer, const SeedRange& seeds,
                   const sim::Scenario* scenario) {
  const ChaosSetup setup{options, make_trainer};
  if (scenario) return play_one(line, setup, *scenario);
  if (seeds.first < seeds.last) return play_many(line, setup, seeds);
  return play_one(
      line, setup,
      sim::draw_scenario(seeds.first, options.nodes, options.phases.chaos, options.hiding));
}

Result<Tally> tally_chaos(const CommandLine& line, const sim::Options& options,
                          const TrainerMaker& make_trainer) {
  TRY(const SeedRange seeds, read_seeds(line, options.seed));
  const sim::SoakReport report = sim::soak(soak_of(options, seeds), make_trainer);
  Tally tally{.seeds = report.seeds, .failures = report.failures.size(), .first_failure = {}};
  if (!report.failures.empty()) tally.first_failure = sim::to_text(report.failures.front());
  return tally;
}

}  // namespace starling::daemon
