#include "gossip/status.h"

#include "base/text.h"

namespace starling::gossip {

std::string_view name(State state) {
  return name_of({"starting", "joining", "training", "paused", "degraded", "leaving", "finished"},
                 state);
}

std::string_view name(Liveness liveness) {
  return name_of({"alive", "suspect", "dead", "left"}, liveness);
}

std::string_view name(Phase phase) {
  return name_of({"joining", "training", "paused", "finished", "left", "resumed"}, phase);
}

std::string_view name(EdgeState state) {
  return name_of({"opening", "active", "late", "refused"}, state);
}

std::vector<std::string> TopologyStatus::names() const {
  std::vector<std::string> names;
  if (sites)
    for (const topology::Site& site : *sites) names.push_back(site.name);
  return names;
}

std::shared_ptr<const topology::Graph> TopologyStatus::graph() const {
  if (!sites || !options) return nullptr;
  auto graph = topology::build(*options, *sites);
  if (!graph) return nullptr;
  return std::make_shared<const topology::Graph>(*std::move(graph));
}

}  // namespace starling::gossip
