#include "sim/liar.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/check.h"
#include "topology/connectivity.h"

namespace starling::sim {
namespace {

const optim::Format& format_of(const World& world) {
  ENSURE(world.options().format, "the liar can read the vectors");
  return *world.options().format;
}

}  // namespace

Liar::Liar(World& world, std::size_t node, const Lie& lie)
    : world_(&world), node_(node), lie_(&lie) {
  ENSURE(node < world.options().nodes, "the liar is one of the nodes");
  if (lie.vector) falsifier_.emplace(format_of(world), lie, [this] { return entries(); });
  world.drivers().intercept([this](Parcel& parcel) { meet(parcel); });
}

// Each message, before it is cut into frames.
void Liar::meet(Parcel& parcel) {
  auto& [envelope, body, payload] = parcel.message;
  const bool is_own = parcel.hop.from == node_;
  if (auto* const round = std::get_if<gossip::Round>(&body); round && falsifier_)
    meet_vector(parcel.hop, *round, payload);
  if (auto* const tally = std::get_if<gossip::Tally>(&body); tally && is_own && lie_->tally)
    lie_->tally(*tally, payload);
  if (is_own && lie_->record) tell_record(body);
  if (parcel.from >= payload.size()) parcel.from = 0;
}

void Liar::meet_vector(const Hop& hop, gossip::Round& round, Payload& vector) {
  if (vector.empty()) return;
  if (hop.from != node_) return falsifier_->hear(hop.from, vector);
  falsifier_->falsify(hop.to, round, vector);
}

// Others pass its record on as they heard it.
void Liar::tell_record(gossip::Body& body) const {
  const NodeId self = node_id(name_of(node_));
  if (gossip::Member* const member = gossip::member_in(body)) lie_->record(*member);
  if (std::vector<gossip::Rumor>* const rumors = gossip::rumors_in(body))
    for (gossip::Rumor& rumor : *rumors)
      if (rumor.member->id == self) rumor.member.change(lie_->record);
}

std::vector<double> Liar::entries() const {
  const std::size_t witness = node_ == 0 ? 1 : 0, nodes = world_->options().nodes;
  if (!world_->runs(witness)) return {};
  const gossip::TopologyStatus topology = world_->status(witness).topology;
  const auto graph = topology.graph();
  if (!graph || static_cast<std::size_t>(graph->size()) != nodes) return {};
  const auto mode = topology::connectivity(*graph);
  if (!mode) return {};
  const std::vector<double>& found = mode->entries;
  const std::vector<std::string> names = topology.names();
  std::vector<double> entries(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto name = std::ranges::find(names, name_of(node)) - names.begin();
    if (static_cast<std::size_t>(name) < found.size())
      entries[node] = found[static_cast<std::size_t>(name)];
  }
  return entries;
}

std::deque<Liar> liars_of(World& world) {
  const Options& options = world.options();
  std::deque<Liar> liars;
  for (std::size_t node = 0; node < options.nodes; ++node)
    if (is_liar(options, node)) liars.emplace_back(world, node, *options.lie);
  return liars;
}

}  // namespace starling::sim
