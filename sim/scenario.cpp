#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/ids.h"
#include "base/limits.h"
#include "base/prng.h"
#include "base/text.h"

namespace starling::sim {
namespace {

using std::chrono::milliseconds;

constexpr double kChaosSecondsLimit = 1e6;
constexpr std::size_t kFaultsLimit = 100'000;
constexpr std::int64_t kGoalRoundsLimit = 1'000'000'000;

// Times between two faults of a kind, and of a fault, in seconds; drawn evenly in the logarithm.
constexpr double kPauseLeast = 8, kPauseMost = 240;
constexpr double kDurationLeast = 0.1, kDurationMost = 40;

// Of a link, in Mbit/s: the vectors of chaos are small.
constexpr double kLimitLeast = 0.01, kLimitMost = 10;

// Of the links of all nodes, in Mbit/s, and how many times less steps take: then a vector is under
// way for longer than many steps take.
constexpr double kNarrowLeast = 0.1, kHastenMost = 300;

// The largest share of forged frames. Larger: edges begin anew more often than they exchange.
constexpr double kForgedMost = 0.02;

// Of the end of the run: the share of seeds that have a goal, and of these those whose nodes leave
// after it; when it comes, in shares of the chaos; the rounds of a second; the seconds until a node
// leaves.
constexpr double kGoalShare = 0.5, kLeaveShare = 0.5;
constexpr double kGoalLeast = 0.2, kGoalMost = 1.1;
constexpr double kRoundsPerSecond = 0.5;
constexpr double kStayLeast = 0.01, kStayMost = 20;

Duration in_milliseconds(double value) {
  return milliseconds(static_cast<milliseconds::rep>(value * 1e3));
}

double draw_logarithmic(Prng& prng, double least, double most) {
  return std::exp(prng.uniform(std::log(least), std::log(most)));
}

std::vector<std::size_t> draw_nodes(Prng& prng, const FaultRule& rule, const Scenario& scenario) {
  const std::size_t nodes = scenario.nodes, hidden = scenario.hiding.nodes;
  if (rule.of_hidden) return {nodes - 1 - prng.below(hidden)};
  std::vector<std::size_t> all(nodes);
  std::iota(all.begin(), all.end(), std::size_t{0});
  prng.shuffle(std::span(all));
  const std::size_t most = std::min(rule.nodes_most, std::max<std::size_t>(nodes / 2, 1));
  std::size_t count = std::min(rule.nodes_least, nodes);
  if (most > count) count += prng.below(most - count + 1);
  all.resize(count);
  std::ranges::sort(all);
  if (count == 2 && prng.chance(0.5)) std::swap(all[0], all[1]);  // from and to
  return all;
}

double draw_amount(Prng& prng, const FaultRule& rule) {
  if (rule.amount_most <= 0) return 0;
  if (rule.kind == FaultKind::limit)
    return std::ceil(draw_logarithmic(prng, kLimitLeast, kLimitMost) * 100) / 100;
  if (rule.kind == FaultKind::narrow)
    return std::ceil(draw_logarithmic(prng, kNarrowLeast, kLimitMost) * 100) / 100;
  if (rule.kind == FaultKind::set)
    return 1 + static_cast<double>(prng.below(static_cast<std::uint64_t>(rule.amount_most)));
  if (rule.kind == FaultKind::hasten) return std::ceil(draw_logarithmic(prng, 1, kHastenMost));
  if (rule.kind == FaultKind::forge) return std::ceil(prng.uniform() * kForgedMost * 1000) / 1000;
  const double most = std::min(rule.amount_most, rule.amount_least + 7);
  const double value = prng.uniform(rule.amount_least, most);
  return std::ceil(value * 100 * (most > 1 ? 1 : 0.5)) / 100;  // shares of at most a half
}

void draw_kind(Prng prng, const FaultRule& rule, Scenario& scenario) {
  const double end = seconds(scenario.chaos);
  const double pause = draw_logarithmic(prng, kPauseLeast, kPauseMost);
  double at = 0;
  while ((at += -pause * std::log(1 - prng.uniform())) < end) {
    Fault fault;
    fault.at = in_milliseconds(at);
    fault.kind = rule.kind;
    fault.nodes = draw_nodes(prng, rule, scenario);
    fault.amount = draw_amount(prng, rule);
    if (rule.has_end)
      fault.duration =
          std::min(in_milliseconds(draw_logarithmic(prng, kDurationLeast, kDurationMost)),
                   scenario.chaos - fault.at);
    scenario.faults.push_back(std::move(fault));
  }
}

// Some of the nodes but the first are not there from the beginning.
void draw_joins(Prng prng, Scenario& scenario) {
  const std::size_t most = scenario.nodes / 4;
  const std::size_t count = most > 0 ? 1 + prng.below(most) : 0;
  for (std::size_t k = 0; k < count; ++k) {
    Fault fault;
    fault.kind = FaultKind::join;
    fault.at = in_milliseconds(prng.uniform(0.1, 0.9) * seconds(scenario.chaos));
    fault.nodes = {scenario.nodes - 1 - k};
    scenario.faults.push_back(std::move(fault));
  }
}

void draw_goal(Prng prng, Scenario& scenario) {
  if (!prng.chance(kGoalShare)) return;
  const double end = prng.uniform(kGoalLeast, kGoalMost) * seconds(scenario.chaos);
  if (prng.chance(0.5))
    scenario.goal.rounds = 1 + static_cast<std::uint64_t>(end * kRoundsPerSecond);
  else
    scenario.goal.time = in_milliseconds(end);
  if (prng.chance(kLeaveShare))
    scenario.goal.stay = in_milliseconds(draw_logarithmic(prng, kStayLeast, kStayMost));
}

void sort(Scenario& scenario) {
  std::ranges::stable_sort(scenario.faults, {}, &Fault::at);
}

Result<std::int64_t> read_whole(std::string_view what, std::string_view text, std::int64_t least,
                                std::int64_t most) {
  const auto value = parse_integer(trim(text));
  if (!value || *value < least || *value > most)
    return fail("{} = \"{}\": expected a whole number from {} to {}", what, trim(text), least,
                most);
  return *value;
}

Result<Duration> read_time(std::string_view what, std::string_view text) {
  text = trim(text);
  const auto value = parse_number(text.substr(0, text.rfind(" s")));
  if (!value || *value < 0 || *value > kChaosSecondsLimit || !text.ends_with(" s"))
    return fail("{} = \"{}\": expected a number from 0 to {} and \"s\"", what, text,
                kChaosSecondsLimit);
  return in_milliseconds(*value);
}

Result<void> read_goal(std::string_view text, ScenarioGoal& goal) {
  const std::size_t unit = text.rfind(" rounds");
  if (unit == std::string_view::npos) {
    TRY(goal.time, read_time("goal", text));
    return {};
  }
  TRY(const auto rounds, read_whole("goal", text.substr(0, unit), 1, kGoalRoundsLimit));
  goal.rounds = static_cast<std::uint64_t>(rounds);
  return {};
}

// One line that is neither empty nor a comment.
Result<void> read_line(std::string_view line, Scenario& scenario) {
  const auto rest_of = [&](std::string_view word) { return line.substr(word.size()); };
  if (line.starts_with("seed ")) {
    TRY(const auto seed, read_whole("seed", rest_of("seed "), 0, INT64_MAX));
    scenario.seed = static_cast<std::uint64_t>(seed);
  } else if (line.starts_with("nodes ")) {
    TRY(const auto nodes, read_whole("nodes", rest_of("nodes "), 1, kMembersLimit));
    scenario.nodes = static_cast<std::size_t>(nodes);
    if (!scenario.faults.empty()) return fail("nodes: expected before the first fault");
  } else if (line.starts_with("hidden ")) {
    TRY(const auto hidden, read_whole("hidden", rest_of("hidden "), 0, kMembersLimit));
    scenario.hiding.nodes = static_cast<std::size_t>(hidden);
  } else if (line.starts_with("nats ")) {
    TRY(const auto nats, read_whole("nats", rest_of("nats "), 0, kMembersLimit));
    scenario.hiding.nats = static_cast<std::size_t>(nats);
  } else if (line.starts_with("chaos ")) {
    TRY(scenario.chaos, read_time("chaos", rest_of("chaos ")));
  } else if (line.starts_with("goal ")) {
    return read_goal(rest_of("goal "), scenario.goal);
  } else if (line.starts_with("stay ")) {
    TRY(scenario.goal.stay, read_time("stay", rest_of("stay ")));
  } else {
    TRY(Fault fault, parse_fault(line, scenario.nodes));
    if (scenario.faults.size() >= kFaultsLimit)
      return fail("expected at most {} faults", kFaultsLimit);
    scenario.faults.push_back(std::move(fault));
  }
  return {};
}

Result<void> check_ends(Scenario& scenario) {
  Duration last{};
  for (const Fault& fault : scenario.faults) last = std::max(last, fault.at + fault.duration);
  if (scenario.chaos == Duration{}) scenario.chaos = last;
  if (last > scenario.chaos)
    return fail("a fault ends at {} s: expected at most chaos, {} s", seconds(last),
                seconds(scenario.chaos));
  return {};
}

Result<void> check_hiding(const Scenario& scenario) {
  const auto& [hidden, nats] = scenario.hiding;
  if (hidden >= scenario.nodes)
    return fail("hidden = {}: expected fewer than nodes, {}", hidden, scenario.nodes);
  for (const Fault& fault : scenario.faults)
    if (rule_of(fault.kind).of_hidden &&
        !is_hidden(scenario.hiding, scenario.nodes, fault.nodes.front()))
      return fail("\"{}\": expected one of the hidden nodes, the last {}", to_text(fault), hidden);
  return {};
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed, std::size_t nodes, Duration chaos, const Hiding& hiding,
                       bool sets) {
  ENSURE(nodes > hiding.nodes, "a scenario has nodes that can be dialled");
  Scenario scenario{.seed = seed, .nodes = nodes, .hiding = hiding, .chaos = chaos};
  Prng prng = Prng::derive(seed, stable_hash("scenario"));
  for (const FaultRule& rule : fault_rules()) {
    const bool is_drawn = prng.chance(rule.share) || (sets && rule.kind == FaultKind::set);
    const bool is_on =
        is_drawn && rule.nodes_least <= nodes && (!rule.of_hidden || hiding.nodes > 0);
    const Prng own = Prng::derive(prng.next(), stable_hash(rule.verb));
    if (!is_on) continue;
    if (rule.kind == FaultKind::join)
      draw_joins(own, scenario);
    else
      draw_kind(own, rule, scenario);
  }
  draw_goal(Prng::derive(seed, stable_hash("goal")), scenario);
  sort(scenario);
  return scenario;
}

std::string to_text(const Scenario& scenario) {
  std::string text = fmt::format("seed {}\nnodes {}\n", scenario.seed, scenario.nodes);
  if (scenario.hiding.nodes > 0) text += fmt::format("hidden {}\n", scenario.hiding.nodes);
  if (scenario.hiding.nats > 0) text += fmt::format("nats {}\n", scenario.hiding.nats);
  text += fmt::format("chaos {} s\n", seconds(scenario.chaos));
  const ScenarioGoal& goal = scenario.goal;
  if (goal.rounds > 0) text += fmt::format("goal {} rounds\n", goal.rounds);
  if (goal.time > Duration{}) text += fmt::format("goal {} s\n", seconds(goal.time));
  if (goal.stay) text += fmt::format("stay {} s\n", seconds(*goal.stay));
  for (const Fault& fault : scenario.faults) text += to_text(fault) + "\n";
  return text;
}

Result<Scenario> parse_scenario(std::string_view text) {
  Scenario scenario;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.starts_with('#')) continue;
    if (const auto read = read_line(line, scenario); !read)
      return fail("line {}: {}", number, read.error().text);
  }
  TRY_DO(check_ends(scenario));
  TRY_DO(check_hiding(scenario));
  sort(scenario);
  return scenario;
}

}  // namespace starling::sim
