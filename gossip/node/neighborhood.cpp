#include "gossip/node/neighborhood.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/prng.h"
#include "topology/build.h"

namespace starling::gossip {
namespace {

// In the hash of the members.
constexpr std::uint64_t kHiddenBit = 1ULL << 63, kRelayBit = 1ULL << 62;

std::vector<const Member*> placed_of(const Roster& members) {
  std::vector<const Member*> placed = members.ready();
  std::erase_if(placed, [&](const Member* member) { return !members.agrees(*member); });
  return placed;
}

std::vector<topology::Site> sites_of(const std::vector<const Member*>& placed) {
  std::vector<topology::Site> sites;
  for (const Member* member : placed)
    sites.push_back({member->id, member->name, is_hidden(*member), member->group});
  return sites;
}

std::vector<NodeId> sharing_of(const std::vector<const Member*>& placed) {
  std::vector<NodeId> sharing;
  for (const Member* member : placed)
    if (!is_relay(*member)) sharing.push_back(member->id);
  return sharing;
}

std::uint64_t view_of(const std::vector<const Member*>& placed) {
  std::uint64_t view = 0;
  for (const Member* member : placed)
    view = mix64(view ^ member->id.value ^ (is_hidden(*member) ? kHiddenBit : 0) ^
                 (is_relay(*member) ? kRelayBit : 0) ^
                 (member->group.empty() ? 0 : stable_hash(member->group)));
  return view;
}

// Vectors in both directions share one edge.
std::vector<WantedEdge> edges_of(const topology::Neighbors& near,
                                 const std::vector<topology::Site>& sites) {
  std::map<int, WantedEdge> edges;
  const auto edge_to = [&](int vertex) -> WantedEdge& {
    const NodeId peer = sites[static_cast<std::size_t>(vertex)].id;
    return edges.try_emplace(vertex, WantedEdge{peer, false, false}).first->second;
  };
  for (const int vertex : near.in) edge_to(vertex).in = true;
  for (const int vertex : near.out) edge_to(vertex).out = true;
  std::vector<WantedEdge> wanted;
  for (const auto& [vertex, edge] : edges) wanted.push_back(edge);
  return wanted;
}

// Null if the topology has no place for them, and where every round uses all edges.
std::shared_ptr<const Turns> turns_among(const std::vector<topology::Site>& sites,
                                         const topology::Options& options, int self) {
  if (!options.sequence.moves()) return nullptr;
  const auto graph = topology::build(options, sites);
  if (!graph) return nullptr;
  Turns turns;
  turns.sequence = topology::sequence_of(options, sites, *graph);
  turns.self = self;
  for (const topology::Site& site : sites) turns.nodes.push_back(site.id);
  return std::make_shared<const Turns>(std::move(turns));
}

}  // namespace

Neighborhood::Neighborhood(const topology::Options& options) {
  status_.options = std::make_shared<const topology::Options>(options);
}

void Neighborhood::take(Time now, const topology::Options& options) {
  status_.options = std::make_shared<const topology::Options>(options);
  status_.sites = nullptr;
  restart(now);
}

bool Neighborhood::follow(Time now, const Roster& members) {
  version_ = members.version();
  departures_ = members.departures();
  next_ = now + kFollowEvery;
  const std::vector<const Member*> placed = placed_of(members);
  std::vector<topology::Site> sites = sites_of(placed);
  std::vector<NodeId> sharing = sharing_of(placed);
  const auto is_same = [](const auto& a, const auto& b) {
    return a.id == b.id && a.is_hidden == b.is_hidden && a.group == b.group;
  };
  if (status_.sites && std::ranges::equal(sites, *status_.sites, is_same) && sharing == sharing_)
    return true;
  topology::Neighbors near;
  const auto self = std::ranges::find(sites, members.self(), &topology::Site::id);
  if (self != sites.end()) {
    const auto vertex = static_cast<int>(self - sites.begin());
    auto found = topology::neighbors(*status_.options, sites, vertex);
    if (!found) return false;
    near = *std::move(found);
    status_.degree = near.in.size();
  } else {
    status_.degree.reset();
  }
  wanted_ = edges_of(near, sites);
  turns_ = nullptr;
  if (self != sites.end())
    turns_ = turns_among(sites, *status_.options, static_cast<int>(self - sites.begin()));
  view_ = view_of(placed);
  sharing_ = std::move(sharing);
  status_.sites = std::make_shared<const std::vector<topology::Site>>(std::move(sites));
  ++status_.epoch;
  return true;
}

std::vector<std::string> Neighborhood::warnings() const {
  if (!status_.sites || status_.sites->size() < 2) return {};
  if (std::ranges::all_of(*status_.sites, &topology::Site::is_hidden))
    return {
        "nobody can dial any of the members: no two of them exchange anything; let others reach "
        "one of them"};
  const topology::SequenceChoice& sequence = status_.options->sequence;
  const auto is_single = [](const topology::Site& site) { return site.group.empty(); };
  if (sequence.moves() && sequence.row->is_by_group &&
      std::ranges::all_of(*status_.sites, is_single))
    return {
        fmt::format("no member has a node.group, so that each is a group of its own and "
                    "averages in one round of {} only (topology.sequence = {})",
                    sequence.size, to_string(sequence))};
  return {};
}

}  // namespace starling::gossip
