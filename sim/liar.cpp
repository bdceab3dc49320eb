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
    : world_(&world), node_(node), falsifier_(format_of(world), lie, [this] { return entries(); }) {
  ENSURE(node < world.options().nodes, "the liar is one of the nodes");
  world.connections().intercept([this](Parcel& parcel) { meet(parcel); });
}

// Each vector, before it is cut into frames.
void Liar::meet(Parcel& parcel) {
  auto* const round = std::get_if<gossip::Round>(&parcel.message.body);
  Payload& payload = parcel.message.payload;
  if (!round || payload.empty()) return;
  if (parcel.hop.from != node_) return falsifier_.hear(parcel.hop.from, payload);
  falsifier_.falsify(parcel.hop.to, *round, payload);
  if (parcel.from >= payload.size()) parcel.from = 0;
}

std::vector<double> Liar::entries() const {
  const std::size_t witness = node_ == 0 ? 1 : 0, nodes = world_->options().nodes;
  const gossip::TopologyStatus topology = world_->status(witness).topology;
  const auto graph = topology.graph();
  if (!graph || static_cast<std::size_t>(graph->size()) != nodes) return {};
  const auto mode = topology::connectivity(*graph);
  if (!mode) return {};
  const std::vector<double>& found = mode->entries;
  const std::vector<std::string> names = topology.names();
  std::vector<double> entries(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto name =
        std::ranges::find(names, node_options(world_->options(), node).name) - names.begin();
    if (static_cast<std::size_t>(name) < found.size())
      entries[node] = found[static_cast<std::size_t>(name)];
  }
  return entries;
}

}  // namespace starling::sim
