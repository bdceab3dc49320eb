#include "gossip/node/neighborhood.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/prng.h"
#include "topology/build.h"

namespace starling::gossip {
namespace {

constexpr std::uint64_t kHiddenBit = 1ULL << 63;  // in the hash of the members

std::vector<topology::Site> sites_of(const Roster& members) {
  std::vector<topology::Site> sites;
  for (const Member* member : members.ready())
    if (members.agrees(*member)) sites.push_back({member->id, member->name, is_hidden(*member)});
  return sites;
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

// Null if the topology has no place for them.
std::shared_ptr<const Partners> partners_among(const std::vector<topology::Site>& sites,
                                               const topology::Options& options, std::size_t self) {
  auto graph = topology::build(options, sites);
  if (!graph) return nullptr;
  Partners partners{.graph = *std::move(graph), .seed = options.seed, .nodes = {}, .self = self};
  for (const topology::Site& site : sites) partners.nodes.push_back(site.id);
  return std::make_shared<const Partners>(std::move(partners));
}

}  // namespace

Neighborhood::Neighborhood(const topology::Options& options, bool has_partners)
    : has_partners_(has_partners) {
  status_.options = std::make_shared<const topology::Options>(options);
}

bool Neighborhood::follow(Time now, const Roster& members) {
  version_ = members.version();
  departures_ = members.departures();
  next_ = now + kFollowEvery;
  std::vector<topology::Site> sites = sites_of(members);
  const auto is_same = [](const auto& a, const auto& b) {
    return a.id == b.id && a.is_hidden == b.is_hidden;
  };
  if (status_.sites && std::ranges::equal(sites, *status_.sites, is_same)) return true;
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
  partners_ = nullptr;
  if (has_partners_ && self != sites.end())
    partners_ =
        partners_among(sites, *status_.options, static_cast<std::size_t>(self - sites.begin()));
  view_ = 0;
  for (const topology::Site& site : sites)
    view_ = mix64(view_ ^ site.id.value ^ (site.is_hidden ? kHiddenBit : 0));
  status_.sites = std::make_shared<const std::vector<topology::Site>>(std::move(sites));
  ++status_.epoch;
  return true;
}

std::vector<NodeId> Neighborhood::members() const {
  std::vector<NodeId> members;
  if (!status_.sites) return members;
  for (const topology::Site& site : *status_.sites) members.push_back(site.id);
  return members;
}

std::vector<std::string> Neighborhood::warnings() const {
  if (!status_.sites || status_.sites->size() < 2 ||
      !std::ranges::all_of(*status_.sites, &topology::Site::is_hidden))
    return {};
  return {
      "nobody can dial any of the members: no two of them exchange anything; let others reach one "
      "of them"};
}

}  // namespace starling::gossip
