#include "sim/director.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace starling::sim {
namespace {

// What a user sets, by the number of a fault, from 1.
const std::vector<Term> kChanges[] = {
    {{"optim.local-steps", "2"}},
    {{"optim.local-steps", "1"}},
    {{"optim.learning-rate", "0.05"}, {"optim.local-steps", "3"}},
    {{"topology.kind", "complete"}},
    {{"topology.kind", "random"}, {"topology.degree", "4"}},
    {{"topology.seed", "7"}, {"optim.local-steps", "1"}},
    {{"exchange.codec", "i8"}},
    {{"exchange.codec", "native"}, {"optim.local-steps", "2"}},
    {{"optim.algorithm", "gt"}, {"topology.sequence", "still"}},
    {{"optim.algorithm", "dpsgd"}, {"topology.sequence", "matching"}},
};

bool joins_later(const Scenario& scenario, std::size_t node) {
  return std::ranges::any_of(scenario.faults, [&](const Fault& fault) {
    return fault.kind == FaultKind::join && fault.nodes.front() == node;
  });
}

}  // namespace

std::size_t founders(const Scenario& scenario) {
  std::size_t count = 0;
  for (std::size_t node = 0; node < scenario.nodes; ++node) count += !joins_later(scenario, node);
  return count;
}

Director::Director(World& world, const Scenario& scenario) : world_(&world), scenario_(&scenario) {
  if (!scenario.goal.stay) return;
  world.observe([this](std::size_t node, const gossip::Output& output) {
    const std::uint64_t life = world_->machine(node).life;
    if (std::holds_alternative<gossip::MayEnd>(output))
      world_->at(world_->now() + *scenario_->goal.stay, [this, node, life] { leave(node, life); });
  });
}

void Director::begin() {
  ENSURE(world_->options().nodes == scenario_->nodes,
         "a scenario is played in a world of its size");
  for (std::size_t node = 0; node < world_->options().nodes; ++node)
    if (!joins_later(*scenario_, node)) world_->start(node);
  for (const Fault& fault : scenario_->faults) {
    world_->at(Time(fault.at), [this, &fault] { begin_fault(fault); });
    if (fault.duration > Duration{})
      world_->at(Time(fault.at + fault.duration), [this, &fault] { end_fault(fault); });
  }
  world_->at(Time(scenario_->chaos), [this] { heal(); });
}

void Director::begin_fault(const Fault& fault) {
  if (listener_) listener_(fault, true);
  active_.push_back(&fault);
  const std::size_t node = fault.nodes.empty() ? 0 : fault.nodes.front();
  const Time end = Time(fault.at + fault.duration);
  switch (fault.kind) {
    case FaultKind::clog:
      return world_->network().clog(node, fault.nodes.back(), end);
    case FaultKind::pause:
      return world_->pause(node, end);
    case FaultKind::crash:
      return world_->crash(node);
    case FaultKind::wipe:
      world_->crash(node);
      return world_->machine(node).disk.lose();
    case FaultKind::rewind:
      world_->crash(node);
      return world_->machine(node).disk.rewind();
    case FaultKind::leave:
      return world_->tell(node, gossip::LeaveCommand{});
    case FaultKind::halt:
      return world_->tell(node, gossip::PauseCommand{});
    case FaultKind::join:
      return start(node);
    case FaultKind::set:
      return world_->tell(
          node,
          gossip::ConfigureCommand{.agreed = kChanges[static_cast<std::size_t>(fault.amount) - 1]});
    case FaultKind::nat_reboot:
    case FaultKind::away:
      for (const std::size_t lost : cut_off(fault)) world_->drivers().wires().forget(lost);
      return set_weather();
    default:
      return set_weather();
  }
}

void Director::end_fault(const Fault& fault) {
  if (listener_) listener_(fault, false);
  std::erase(active_, &fault);
  switch (fault.kind) {
    case FaultKind::crash:
    case FaultKind::wipe:
    case FaultKind::rewind:
    case FaultKind::leave:
      return start(fault.nodes.front());
    case FaultKind::halt:
      return world_->tell(fault.nodes.front(), gossip::ResumeCommand{});
    default:
      return set_weather();
  }
}

void Director::heal() {
  active_.clear();
  set_weather();
  for (std::size_t node = 0; node < world_->options().nodes; ++node) start(node);
}

namespace {

constexpr double kBytesPerMegabit = 125'000;

void narrow(double& bandwidth, double megabits) {
  const double bytes = megabits * kBytesPerMegabit;
  bandwidth = bandwidth > 0 ? std::min(bandwidth, bytes) : bytes;
}

}  // namespace

// Of faults of one kind that overlap the worst counts.
void Director::set_weather() {
  NetworkOptions options = world_->options().network;
  DamageOptions damage;
  world_->network().heal();
  const auto raise = [](double& value, double to) { value = std::max(value, to); };
  for (const Fault* fault : active_) {
    if (fault->kind == FaultKind::lose) raise(options.loss, fault->amount);
    if (fault->kind == FaultKind::duplicate) raise(options.duplicate, fault->amount);
    if (fault->kind == FaultKind::reorder) raise(options.reorder, fault->amount);
    if (fault->kind == FaultKind::spike) raise(options.spike, fault->amount);
    if (fault->kind == FaultKind::drop) raise(options.packet_loss, fault->amount);
    if (fault->kind == FaultKind::corrupt) raise(damage.corrupt, fault->amount);
    if (fault->kind == FaultKind::forge) raise(damage.forge, fault->amount);
    if (fault->kind == FaultKind::limit) limit(*fault);
    if (fault->kind == FaultKind::narrow) narrow(options.bandwidth, fault->amount);
    if (fault->kind == FaultKind::cut)
      world_->network().cut(fault->nodes.front(), fault->nodes.back());
    if (const auto group = cut_off(*fault); !group.empty())
      world_->network().partition(group, world_->options().nodes);
  }
  world_->network().options() = options;
  world_->network().damage().options() = damage;
  set_pace();
}

void Director::set_pace() {
  double haste = 1;
  std::vector<double> slowness(world_->options().nodes, 1.0);
  slowness.back() = world_->options().straggler;
  for (const Fault* fault : active_) {
    if (fault->kind != FaultKind::slow && fault->kind != FaultKind::hasten) continue;
    const bool is_slow = fault->kind == FaultKind::slow;
    double& pace = is_slow ? slowness[fault->nodes.front()] : haste;
    pace = std::max(pace, fault->amount);
  }
  for (std::size_t node = 0; node < world_->options().nodes; ++node)
    world_->machine(node).slowness = slowness[node] / haste;
}

// From all others, as long as the fault lasts.
std::vector<std::size_t> Director::cut_off(const Fault& fault) const {
  if (fault.kind == FaultKind::part || fault.kind == FaultKind::away) return fault.nodes;
  if (fault.kind != FaultKind::nat_reboot) return {};
  return behind_nat_of(scenario_->hiding, scenario_->nodes, fault.nodes.front());
}

void Director::limit(const Fault& fault) {
  const std::size_t a = fault.nodes.front(), b = fault.nodes.back();
  world_->network().limit(a, b, fault.amount * kBytesPerMegabit);
  world_->network().limit(b, a, fault.amount * kBytesPerMegabit);
}

void Director::start(std::size_t node) {
  if (world_->runs(node) || left_.contains(node)) return;
  gossip::Options options = node_options(world_->options(), node);
  if (world_->now() > Time{}) options.expect = 0;  // the others are there already
  world_->start(node, options);
}

void Director::leave(std::size_t node, std::uint64_t life) {
  if (!world_->runs(node) || world_->machine(node).life != life) return;
  left_.insert(node);
  world_->tell(node, gossip::LeaveCommand{});
}

}  // namespace starling::sim
