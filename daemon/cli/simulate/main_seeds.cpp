#include "daemon/cli/simulate/main_seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/moments.h"
#include "daemon/cli/terminal/progress_line.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/process/cores.h"
#include "daemon/rest/summary_json.h"

namespace starling::daemon {
namespace {

using Json = nlohmann::ordered_json;
using sim::SeedResult;

// A number of a result, as the table and the document call it.
struct Column {
  const char* title;
  const char* name;
  std::size_t width;
  std::optional<double> (*value)(const SeedResult& result);
  std::string (*text)(double value);
};

template <auto kMember>
std::optional<double> member(const SeedResult& result) {
  return std::optional<double>(result.*kMember);
}

std::string whole(double value) {
  return fmt::format("{:.0f}", value);
}
std::string decimals(double value) {
  return fmt::format("{:.5g}", value);
}
std::string small(double value) {
  return fmt::format("{:.2e}", value);
}

constexpr Column kColumns[] = {
    {"rounds", "round", 7, [](const SeedResult& r) { return std::optional<double>(r.round); },
     whole},
    {"virtual s", "virtual_s", 11, member<&SeedResult::virtual_s>, decimals},
    {"loss", "loss", 12, member<&SeedResult::loss>, decimals},
    {"accuracy", "accuracy", 10, member<&SeedResult::accuracy>, decimals},
    {"rmse", "rmse", 12, member<&SeedResult::rmse>, decimals},
    {"consensus", "distance", 11, member<&SeedResult::distance>, small},
    {"to optimum", "distance_to_optimum", 12, member<&SeedResult::distance_to_optimum>, small},
    {"sent", "sent_bytes", 10,
     [](const SeedResult& r) { return std::optional<double>(r.sent_bytes); }, human_bytes}};
constexpr std::size_t kSeedWidth = 10;

std::optional<Moments> moments_of(const std::vector<SeedResult>& results, const Column& column) {
  std::vector<double> values;
  for (const SeedResult& result : results)
    if (const auto value = column.value(result)) values.push_back(*value);
  return moments(values);
}

Json row_json(const SeedResult& result) {
  Json row = {{"seed", result.seed}, {"reached", result.reached}};
  for (const Column& column : kColumns)
    if (const auto value = column.value(result); value && std::isfinite(*value))
      row[column.name] = *value;
  row["round"] = result.round;
  row["sent_bytes"] = result.sent_bytes;
  // As text: a JSON number does not hold 64 bits.
  row["event_hash"] = fmt::format("{:016x}", result.event_hash);
  gossip::Summary breaches;
  breaches.violations = result.violations;
  if (!result.violations.empty()) row["violations"] = summary_json(breaches)["violations"];
  return row;
}

Json seeds_json(const std::vector<SeedResult>& results) {
  Json runs = Json::array(), means = Json::object(), deviations = Json::object();
  for (const SeedResult& result : results) runs.push_back(row_json(result));
  for (const Column& column : kColumns) {
    const auto found = moments_of(results, column);
    if (!found || !std::isfinite(found->mean)) continue;
    means[column.name] = found->mean;
    deviations[column.name] = found->deviation;
  }
  return {{"seeds", results.size()},
          {"reached", std::ranges::count_if(results, &SeedResult::reached)},
          {"runs", std::move(runs)},
          {"mean", std::move(means)},
          {"deviation", std::move(deviations)}};
}

// Its columns are those of the first row.
class SeedTable {
 public:
  void add(const SeedResult& result) {
    if (columns_.empty()) begin(result);
    print(fmt::format("{}", result.seed),
          [&](const Column& column) { return column.value(result); });
    if (!result.reached && result.violations.empty()) fmt::print("  goal not reached");
    end_line();
    for (const gossip::Breach& breach : result.violations)
      fmt::print("  VIOLATION {}, at {:.6f} s, {}: {}\n", breach.law, breach.time_s, breach.node,
                 breach.text);
  }
  void end(const std::vector<SeedResult>& results) {
    print("mean", [&](const Column& column) { return moments_of(results, column)->mean; });
    end_line();
    print("deviation",
          [&](const Column& column) { return moments_of(results, column)->deviation; });
    end_line();
  }

 private:
  void begin(const SeedResult& result) {
    for (const Column& column : kColumns)
      if (column.value(result)) columns_.push_back(&column);
    fmt::print("{:<{}}", "seed", kSeedWidth);
    for (const Column* column : columns_) fmt::print("{:>{}}", column->title, column->width);
    end_line();
  }
  template <class Value>
  void print(const std::string& title, Value value_of) {
    fmt::print("{:<{}}", title, kSeedWidth);
    for (const Column* column : columns_) {
      const std::optional<double> value = value_of(*column);
      fmt::print("{:>{}}", value ? column->text(*value) : "-", column->width);
    }
  }
  // A row is there when it is known, through a pipe too.
  static void end_line() {
    fmt::print("\n");
    std::fflush(stdout);
  }

  std::vector<const Column*> columns_;
};

int exit_code_of(const std::vector<SeedResult>& results, bool has_goal) {
  if (std::ranges::any_of(results, [](const auto& r) { return !r.violations.empty(); }))
    return kExitFailed;
  return !has_goal || std::ranges::all_of(results, &SeedResult::reached) ? kExitDone
                                                                         : kExitGoalNotReached;
}

// Runs each seed; shows the results at once unless they are for a document.
std::vector<SeedResult> run_all(const sim::SeedRunOptions& options,
                                const sim::SeededTrainers& trainers, SeedTable* table) {
  const std::uint64_t count = options.last_seed - options.first_seed + 1;
  std::vector<SeedResult> results;
  std::atomic<std::uint64_t> done = 0;
  ProgressLine progress;
  sim::run_seeds(
      options, trainers,
      [&](SeedResult result) {
        progress.clear();
        if (table) table->add(result);
        results.push_back(std::move(result));
        ++done;
      },
      [&](std::uint64_t seed, Time now, const gossip::Progress& news) {
        progress.tell([&] {
          return fmt::format("{} of {} seeds are done; seed {}: round {}, {:.3g} s of virtual time",
                             done.load(), count, seed, news.round, seconds(now));
        });
      });
  return results;
}

}  // namespace

int simulate_seeds(const CommandLine& line, const sim::Options& options,
                   const sim::SeededTrainers& trainers, const SeedRange& seeds) {
  const auto started = std::chrono::steady_clock::now();
  const sim::SeedRunOptions runs{.world = options,
                                 .first_seed = seeds.first,
                                 .last_seed = seeds.last,
                                 .threads = useful_threads(count_cores().usable)};
  const bool as_json = line.has("json");
  SeedTable table;
  const std::vector<SeedResult> results = run_all(runs, trainers, as_json ? nullptr : &table);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
  if (as_json) {
    Json document = seeds_json(results);
    document["wall_s"] = wall.count();
    fmt::print("{}\n", document.dump(2));
  } else {
    table.end(results);
    fmt::print("{:.1f} s of real time on {} threads.\n", wall.count(), runs.threads);
  }
  return exit_code_of(results, options.base.goal.is_set());
}

}  // namespace starling::daemon
