#include "gossip/status.h"

namespace starling::gossip {

std::string_view name(State state) {
  switch (state) {
    case State::starting:
      return "starting";
    case State::joining:
      return "joining";
    case State::training:
      return "training";
    case State::paused:
      return "paused";
    case State::degraded:
      return "degraded";
    case State::leaving:
      return "leaving";
    case State::finished:
      return "finished";
  }
  return "";
}

std::string_view name(Liveness liveness) {
  switch (liveness) {
    case Liveness::alive:
      return "alive";
    case Liveness::suspect:
      return "suspect";
    case Liveness::dead:
      return "dead";
    case Liveness::left:
      return "left";
  }
  return "";
}

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::joining:
      return "joining";
    case Phase::training:
      return "training";
    case Phase::paused:
      return "paused";
    case Phase::finished:
      return "finished";
    case Phase::left:
      return "left";
    case Phase::resumed:
      return "resumed";
  }
  return "";
}

std::string_view name(EdgeState state) {
  switch (state) {
    case EdgeState::opening:
      return "opening";
    case EdgeState::active:
      return "active";
    case EdgeState::late:
      return "late";
    case EdgeState::refused:
      return "refused";
  }
  return "";
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
