#include "sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "sim/checker.h"
#include "sim/liar.h"
#include "sim/trace.h"

namespace starling::sim {

namespace {

// Empty when the models are not of one size (some node has none yet).
std::vector<double> mean_of(const std::vector<std::vector<double>>& models) {
  if (models.empty()) return {};
  std::vector<double> mean(models.front().size());
  for (const auto& model : models) {
    if (model.size() != mean.size()) return {};
    for (std::size_t k = 0; k < mean.size(); ++k)
      mean[k] += model[k] / static_cast<double>(models.size());
  }
  return mean;
}

gossip::GoalSummary judge_goal(const World& world) {
  gossip::GoalSummary goal{.reached = true, .wanted = world.options().base.goal};
  std::string reason;
  for (std::size_t node : world.running()) {
    const gossip::Status status = world.status(node);
    const gossip::EndStatus& end = status.run.end;
    goal.reached = goal.reached && end.goal_reached;
    if (!end.shortfall.empty() && reason.empty())
      reason = fmt::format("node-{}: {}", node, end.shortfall);
    if (node == 0) goal.reason = end.reason;
    if (node == 0) goal.model = end.model;
    goal.round = std::max(goal.round, status.run.round);
  }
  if (!reason.empty()) goal.reason = reason;
  if (goal.reason.empty()) goal.reason = "the limit of virtual time was reached";
  return goal;
}

}  // namespace

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(sum);
}

gossip::MembersSummary count_members(const World& world) {
  const std::vector<std::size_t> running = world.running();
  if (running.empty()) return {};
  const auto members = world.status(running.front()).members;
  return {.alive = count_in(members, gossip::Liveness::alive),
          .suspect = count_in(members, gossip::Liveness::suspect),
          .dead = count_in(members, gossip::Liveness::dead),
          .left = count_in(members, gossip::Liveness::left)};
}

std::vector<gossip::Breach> breaches(std::span<const Violation> violations) {
  std::vector<gossip::Breach> result;
  for (const Violation& violation : violations)
    result.push_back({.law = violation.law,
                      .time_s = seconds(violation.at),
                      .node = fmt::format("node-{}", violation.node),
                      .text = violation.what});
  return result;
}

gossip::Summary simulate(Options options, TrainerFactory make_trainer, const Listener& told) {
  options.base.expect = options.nodes - options.relays;
  options.base.expect_patience = gossip::Options().expect_patience;  // as under `up`
  World world(options, std::move(make_trainer));
  Checker checker(world);
  const std::deque<Liar> liars = liars_of(world);
  gossip::Series series;
  std::size_t finished = 0;
  world.observe([&](std::size_t node, const gossip::Output& output) {
    if (const auto* progress = std::get_if<gossip::Progress>(&output)) {
      series.add(world.now(), *progress);
      if (told) told(node, world.now(), *progress);
    }
    finished += std::holds_alternative<gossip::MayEnd>(output);
  });
  for (std::size_t node = 0; node < world.options().nodes; ++node) world.start(node);
  Trace trace(world, options.trace);
  const auto is_unfinished = [&] { return finished < world.options().nodes; };
  const Time end(options.limit);
  trace.record();
  while (!world.run_while(is_unfinished, std::min(trace.due(), end)) && world.now() < end)
    trace.record();
  checker.expect_finite();
  return {.nodes = summarize_nodes(world),
          .series = series.points(),
          .goal = judge_goal(world),
          .members = count_members(world),
          .virtual_s = seconds(world.now()),
          .seed = options.seed,
          .event_hash = world.history().hash,
          .events = world.history().events,
          .trace = trace.take(),
          .violations = breaches(checker.violations())};
}

gossip::NodeSummary report(const World& world, std::size_t node) {
  const gossip::Status status = world.status(node);
  gossip::NodeSummary report;
  report.name = name_of(node);
  report.round = status.run.round;
  if (status.run.steps > 0 && std::isfinite(status.run.loss)) report.loss = status.run.loss;
  if (status.run.evaluation) {
    report.accuracy = status.run.evaluation->accuracy;
    report.rmse = status.run.evaluation->rmse;
  }
  report.held_out = status.run.evaluation;
  report.alone = status.run.preparation.alone;
  report.distance = status.consensus_distance;
  report.distance_to_optimum = status.run.distance_to_optimum;
  report.sent_bytes = status.sent_bytes;
  return report;
}

std::vector<gossip::NodeSummary> summarize_nodes(const World& world) {
  const std::vector<std::size_t> running = world.running();
  std::vector<std::vector<double>> models;
  for (std::size_t node : running) models.push_back(world.trainer(node).parameters());
  const std::vector<double> mean = mean_of(models);
  const double norm = distance(mean, std::vector<double>(mean.size()));

  std::vector<gossip::NodeSummary> nodes;
  for (std::size_t k = 0; k < running.size(); ++k) {
    gossip::NodeSummary node = report(world, running[k]);
    node.distance.reset();
    node.distance_to_optimum.reset();
    if (norm > 0) node.distance = distance(models[k], mean) / norm;
    const std::vector<double> optimum = world.trainer(running[k]).optimum();
    if (!optimum.empty() && optimum.size() == models[k].size())
      node.distance_to_optimum = distance(models[k], optimum);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace starling::sim
