#include "gossip/status.h"

#include <algorithm>

#include "base/text.h"

namespace starling::gossip {

std::string_view name(State state) {
  return name_of({"starting", "joining", "training", "paused", "degraded", "leaving", "ending",
                  "settling", "sealing", "finished"},
                 state);
}

std::string_view name(Liveness liveness) {
  return name_of({"alive", "suspect", "dead", "left"}, liveness);
}

std::string_view name(Phase phase) {
  return name_of({"joining", "training", "paused", "finished", "left", "resumed", "ending"}, phase);
}

std::string_view name(EdgeState state) {
  return name_of({"opening", "active", "late", "refused"}, state);
}

std::string to_text(const EndModel& model) {
  std::string text =
      fmt::format("{:016x}, of {} node{}", model.hash, model.nodes, model.nodes == 1 ? "" : "s");
  if (model.round > 0) text += fmt::format(", as they were after round {}", model.round);
  return text;
}

std::size_t count_in(std::span<const MemberStatus> members, Liveness liveness) {
  return static_cast<std::size_t>(std::ranges::count(members, liveness, &MemberStatus::liveness));
}

std::size_t count_in(std::span<const MemberStatus> members, Phase phase) {
  return static_cast<std::size_t>(std::ranges::count_if(members, [&](const MemberStatus& one) {
    return one.is_present() && one.member->phase == phase;
  }));
}

std::size_t count_present(std::span<const MemberStatus> members) {
  return static_cast<std::size_t>(std::ranges::count_if(members, &MemberStatus::is_present));
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
