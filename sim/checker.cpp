#include "sim/checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace starling::sim {
namespace {

std::vector<std::string> names_of(const World& world, const std::vector<std::size_t>& nodes) {
  std::vector<std::string> names;
  for (std::size_t node : nodes) names.push_back(world.node_options(node).name);
  return names;
}

// In natural order, as running() is.
std::vector<std::string> listed_by(const World& world, std::size_t node) {
  std::vector<std::string> names;
  for (const gossip::MemberStatus& member : world.status(node).members)
    if (member.liveness == gossip::Liveness::alive) names.push_back(member.member.name);
  return names;
}

}  // namespace

Checker::Checker(World& world) : world_(&world), seen_(world.size()) {
  world.observe([this](std::size_t node, const gossip::Output& output) {
    if (const auto* progress = std::get_if<gossip::Progress>(&output)) see(node, *progress);
    if (const auto* train = std::get_if<gossip::Train>(&output)) see(node, train->job);
  });
}

void Checker::see(std::size_t node, const gossip::Progress& progress) {
  Seen& seen = seen_[node];
  const std::uint64_t life = world_->life(node);
  if (seen.life == life && progress.round < seen.round)
    violated(node, fmt::format("round {} after round {}", progress.round, seen.round));
  seen = {life, progress.round};
}

void Checker::see(std::size_t node, const optim::Job& job) {
  double sum = 0;
  for (const optim::MixTerm& term : job.mix) {
    if (!(term.weight >= 0)) violated(node, fmt::format("an edge of weight {}", term.weight));
    sum += term.weight;
  }
  if (!(sum < 1)) violated(node, fmt::format("edges of weight {} altogether", sum));
}

void Checker::expect_finite() {
  for (std::size_t node : world_->running())
    if (!std::ranges::all_of(world_->trainer(node).parameters(),
                             [](double x) { return std::isfinite(x); }))
      violated(node, "a parameter is not finite");
}

void Checker::expect_agreement() {
  const std::vector<std::size_t> running = world_->running();
  const std::vector<std::string> names = names_of(*world_, running);
  for (std::size_t node : running)
    if (const auto listed = listed_by(*world_, node); listed != names)
      violated(node, fmt::format("lists {} as alive; {} run", listed.size(), names.size()));
}

void Checker::violated(std::size_t node, std::string what) {
  if (violations_.size() >= kViolationsLimit) return;
  violations_.push_back(fmt::format("at {:.6f} s, node-{}, seed {}: {}", seconds(world_->now()),
                                    node, world_->options().seed, what));
}

bool agree_on_members(const World& world) {
  const std::vector<std::size_t> running = world.running();
  const std::vector<std::string> names = names_of(world, running);
  return std::ranges::all_of(running,
                             [&](std::size_t node) { return listed_by(world, node) == names; });
}

}  // namespace starling::sim
