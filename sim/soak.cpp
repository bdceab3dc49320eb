#include "sim/soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "base/prng.h"

namespace starling::sim {
namespace {

// Hands out seeds in their order and collects the verdicts.
class Desk {
 public:
  explicit Desk(const SoakOptions& options) : options_(options), next_(options.first_seed) {}

  std::optional<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    if (next_ > options_.last_seed || failed_.size() >= options_.failures_limit)
      return std::nullopt;
    return next_++;
  }
  void put(std::uint64_t seed, Verdict verdict) {
    const std::lock_guard lock(mutex_);
    if (verdict.passed())
      verdict.scenario.faults = {};
    else
      failed_.push_back(seed);
    verdicts_.emplace(seed, std::move(verdict));
    if (options_.told) options_.told(verdicts_.size(), failed_);
  }
  SoakReport report() && {
    SoakReport report;
    report.seeds = verdicts_.size();
    for (auto& [seed, verdict] : verdicts_) {
      report.counts += verdict.counts;
      report.rounds += verdict.rounds;
      report.events += verdict.events;
      report.hash = mix64(report.hash ^ verdict.event_hash);
      report.slowest_agreement =
          std::max(report.slowest_agreement, verdict.agreed_after.value_or(Duration{}));
      if (!verdict.passed()) report.failures.push_back(std::move(verdict));
    }
    return report;
  }

 private:
  SoakOptions options_;
  std::mutex mutex_;
  std::uint64_t next_;
  std::vector<std::uint64_t> failed_;
  std::map<std::uint64_t, Verdict> verdicts_;
};

}  // namespace

SoakReport soak(const SoakOptions& options, const TrainerFactory& make_trainer) {
  Desk desk(options);
  const Options& world = options.world;
  const auto work = [&] {
    while (const auto seed = desk.take()) {
      const Scenario scenario =
          draw_scenario(*seed, world.nodes, world.phases.chaos, world.hiding, world.phases.sets);
      desk.put(*seed, try_scenario(world, make_trainer, scenario));
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t k = 1; k < options.threads; ++k) others.emplace_back(work);
    work();
  }
  return std::move(desk).report();
}

Verdict shrink(const Options& options, const TrainerFactory& make_trainer, const Verdict& failure) {
  Verdict best = failure;
  const std::string law = failure.violations.front().law;
  for (std::size_t size = std::max<std::size_t>(best.scenario.faults.size() / 2, 1); size > 0;
       size /= 2) {
    for (std::size_t first = 0; first + size <= best.scenario.faults.size();) {
      Scenario rest = best.scenario;
      const auto from = rest.faults.begin() + static_cast<std::ptrdiff_t>(first);
      rest.faults.erase(from, from + static_cast<std::ptrdiff_t>(size));
      Verdict shorter = try_scenario(options, make_trainer, rest);
      if (!shorter.passed() && shorter.violations.front().law == law)
        best = std::move(shorter);
      else
        first += size;
    }
  }
  return best;
}

std::string to_text(const SoakReport& report) {
  std::string text;
  for (const Verdict& failure : report.failures) text += to_text(failure) + "\n";
  text += fmt::format("{} of {} seeds pass, {} events, {} rounds, hash {:016x}.\n",
                      report.seeds - report.failures.size(), report.seeds, report.events,
                      report.rounds, report.hash);
  text +=
      fmt::format("Slowest agreement {} s after the chaos.\n", seconds(report.slowest_agreement));
  text += fmt::format("Faults: {}.\n", to_text(report.counts));
  return text;
}

}  // namespace starling::sim
