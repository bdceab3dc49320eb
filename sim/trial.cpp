#include "sim/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "sim/director.h"
#include "sim/liar.h"
#include "sim/simulation.h"
#include "sim/trace.h"

namespace starling::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLook = 250ms;       // between two looks whether all agree
constexpr Duration kStepLook = 500ms;   // between two looks whether neighbours are in step,
constexpr Duration kInStepAfter = 20s;  // from so long after all agree on
constexpr std::size_t kSeeds = 3;       // nodes that every node is told of

// Whom a fault meets first: the node it names alone, or the network.
std::string whom(const Fault& fault) {
  return fault.nodes.size() == 1 && fault.kind != FaultKind::part
             ? fmt::format("node-{}", fault.nodes.front())
             : "network";
}

// Of the scenario; changes of settings leave it.
void set_goal(gossip::Options& options, const ScenarioGoal& goal) {
  options.goal = {.rounds = goal.rounds, .seconds = seconds(goal.time)};
  if (!options.reconfigure) return;
  options.reconfigure = [inner = options.reconfigure, goal = options.goal](
                            std::span<const Term> terms) -> Result<gossip::Reconfigured> {
    TRY(gossip::Reconfigured next, inner(terms));
    gossip::Options node = *next.node;
    node.goal = goal;
    next.node = std::make_shared<const gossip::Options>(std::move(node));
    return next;
  };
}

Options options_for(Options options, const Scenario& scenario) {
  options.nodes = scenario.nodes;
  options.hiding = scenario.hiding;
  options.seed = scenario.seed;
  options.base.expect = founders(scenario);
  options.base.expect_patience = gossip::Options().expect_patience;  // as under `up`
  set_goal(options.base, scenario.goal);
  options.base.seeds.clear();
  const std::size_t dialled = scenario.nodes - scenario.hiding.nodes;
  for (std::size_t node = 0; node < std::min(kSeeds, dialled); ++node)
    options.base.seeds.push_back(control_of(node));
  return options;
}

// The world, those who watch it and what they found.
class Trial {
 public:
  Trial(const Options& options, const TrainerFactory& make_trainer, const Scenario& scenario,
        Timeline* timeline, gossip::Summary* summary)
      : options_(options),
        scenario_(scenario),
        timeline_(timeline),
        summary_(summary),
        world_(options_for(options, scenario), make_trainer),
        liars_(liars_of(world_)),
        checker_(world_),
        trace_(world_, summary ? options.trace : Duration{}),
        director_(world_, scenario_) {
    world_.observe([this](std::size_t, const gossip::Output& output) {
      const auto* progress = std::get_if<gossip::Progress>(&output);
      verdict_.rounds += progress != nullptr;
      if (progress && summary_) series_.add(world_.now(), *progress);
    });
    if (!timeline) return;
    timeline->watch(world_);
    director_.listen(
        [this](const Fault& fault, bool begins) { timeline_->add(world_.now(), fault, begins); });
  }

  Verdict run() {
    director_.begin();
    record();
    if (run_until(Time(scenario_.chaos))) heal();
    return judge();
  }

 private:
  // Whether all laws held up to then.
  bool run_until(Time time) {
    const auto is_sound = [&] { return checker_.sound(); };
    while (!world_.run_while(is_sound, std::min(trace_due_, time)) && world_.now() < time) record();
    return checker_.sound();
  }
  void record() {
    trace_.record();
    trace_due_ = trace_.due();
  }
  void tell(std::string_view what) {
    if (timeline_) timeline_->add(world_.now(), "all", what);
  }
  void heal() {
    tell("every fault has ended");
    const Time healed = Time(scenario_.chaos);
    while (!agree_on_members(world_) && world_.now() < healed + options_.phases.agree_within)
      if (!run_until(world_.now() + kLook)) return;
    const Time agreed = agree_on_members(world_) ? world_.now() : kNever;
    if (agreed == kNever && !director_.has_left()) return checker_.expect_agreement();
    verdict_.agreed_after = world_.now() - healed;
    tell(agreed == kNever ? "those who are left do not agree" : "all agree");
    if (!stay_in_step(healed)) return;
    if (!director_.has_left()) checker_.expect_agreement();
    checker_.expect_finite();
    if (!director_.has_left()) checker_.settings().expect_same();
    if (checker_.ends().has_begun()) return checker_.ends().expect_one_model(agreed);
    checker_.expect_shares();
    checker_.expect_settled();
    checker_.expect_consensus(options_.phases.distance_limit);
  }

  // To the end of the run; whether all laws held.
  bool stay_in_step(Time healed) {
    const Time end = healed + options_.phases.healed;
    const Time since = std::max(world_.now(), healed) + kInStepAfter;
    while (world_.now() < end) {
      if (!run_until(std::min(world_.now() + kStepLook, end))) return false;
      checker_.expect_rounds();
      checker_.ends().expect_end();
      if (world_.now() >= since && !checker_.ends().has_begun()) checker_.expect_step();
    }
    return checker_.sound();
  }

  Verdict judge() {
    verdict_.scenario = scenario_;
    verdict_.violations = checker_.violations();
    verdict_.counts = world_.fault_counts();
    verdict_.distance = consensus_distance(world_);
    verdict_.events = world_.history().events;
    verdict_.event_hash = world_.history().hash;
    verdict_.behavior_hash = world_.history().behavior;
    if (timeline_)
      for (const Violation& violation : verdict_.violations)
        timeline_->add(violation.at, fmt::format("node-{}", violation.node),
                       fmt::format("VIOLATION {}: {}", violation.law, violation.what));
    if (summary_) summarize();
    return std::move(verdict_);
  }

  void summarize() {
    std::uint64_t round = 0;
    for (const std::size_t node : world_.running())
      round = std::max(round, world_.status(node).run.round);
    *summary_ = {.nodes = summarize_nodes(world_),
                 .series = series_.points(),
                 .goal = {.reached = verdict_.passed(),
                          .reason = verdict_.passed() ? "every law held" : "a law was broken",
                          .round = round,
                          .wanted = {}},
                 .members = count_members(world_),
                 .virtual_s = seconds(world_.now()),
                 .seed = scenario_.seed,
                 .event_hash = verdict_.event_hash,
                 .events = verdict_.events,
                 .trace = trace_.take(),
                 .violations = breaches(verdict_.violations)};
  }

  Options options_;
  Scenario scenario_;
  Timeline* timeline_;
  gossip::Summary* summary_;
  World world_;
  std::deque<Liar> liars_;
  Checker checker_;
  gossip::Series series_;
  Trace trace_;
  Time trace_due_ = kNever;
  Director director_;
  Verdict verdict_;
};

}  // namespace

void Timeline::watch(World& world) {
  world.observe([this, &world](std::size_t node, const gossip::Output& output) {
    if (const auto* event = std::get_if<gossip::Event>(&output))
      add(world.now(), fmt::format("node-{}", node), event->text);
  });
}

void Timeline::add(Time at, const Fault& fault, bool begins) {
  const std::string sentence = to_text(fault);
  const std::string what = sentence.substr(sentence.find(':') + 2);
  add(at, whom(fault), begins ? "FAULT " + what : "END OF " + what);
}

void Timeline::add(Time at, std::string_view who, std::string_view what) {
  fmt::format_to(std::back_inserter(text_), "{:>10.3f} s  {:<9} {}\n", seconds(at), who, what);
}

Verdict try_scenario(const Options& options, const TrainerFactory& make_trainer,
                     const Scenario& scenario, Timeline* timeline, gossip::Summary* summary) {
  return Trial(options, make_trainer, scenario, timeline, summary).run();
}

std::string to_text(const Verdict& verdict) {
  if (!verdict.passed()) return to_text(verdict.violations.front(), verdict.scenario.seed);
  return fmt::format("seed {} passes: all agree after {} s, distance {:.2g}, hash {:016x}",
                     verdict.scenario.seed, seconds(verdict.agreed_after.value_or(Duration{})),
                     verdict.distance, verdict.event_hash);
}

}  // namespace starling::sim
