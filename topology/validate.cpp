#include <functional>
#include <map>
#include <string_view>

#include "base/limits.h"
#include "topology/build.h"
#include "topology/kinds.h"
#include "topology/sequence.h"

namespace starling::topology {
namespace {

// On average, for the kinds whose edges grow as n^2.
double expected_edges(const Options& options, std::size_t n) {
  const auto density = row_of(options.kind).density;
  return density ? density(options) * 0.5 * static_cast<double>(n) * static_cast<double>(n - 1) : 0;
}

Result<void> validate_size(const Options& options, std::size_t n) {
  const KindRow& kind = row_of(options.kind);
  if (n > kMembersLimit)
    return fail("topology.kind = \"{}\": allows at most {} nodes; n = {}", kind.name, kMembersLimit,
                n);
  if (const std::string problem = kind.size_problem ? kind.size_problem(n) : ""; !problem.empty())
    return fail("topology.kind = \"{}\": {}; n = {}", kind.name, problem, n);
  if (expected_edges(options, n) > static_cast<double>(kEdgesLimit))
    return fail("topology.kind = \"{}\": has {:.0f} edges, allows at most {}; n = {}", kind.name,
                expected_edges(options, n), kEdgesLimit, n);
  return {};
}

Result<void> validate_degree(const Options& options, std::size_t n) {
  if (const std::string_view problem = degree_problem(options); !problem.empty())
    return fail("topology.degree = {}: {}", options.degree, problem);
  const KindRow& kind = row_of(options.kind);
  const auto degree = static_cast<std::size_t>(options.degree);
  if (kind.degree.is_below_nodes && degree >= n)
    return fail("topology.degree = {}: topology.kind {} needs more nodes than that; n = {}", degree,
                kind.name, n);
  if (kind.degree.is_everywhere && n % 2 != 0 && degree % 2 != 0)
    return fail("topology.degree = {}: an odd degree needs an even number of nodes; n = {}", degree,
                n);
  return {};
}

// The nodes in an edge list, with arbitrary ids.
std::vector<Site> named_sites(const Options& options) {
  std::map<std::string_view, NodeId> names;
  for (const NamedEdges& edges : {std::cref(options.edges), std::cref(options.arcs)})
    for (const auto& [a, b] : edges) {
      names.emplace(a, node_id(a));
      names.emplace(b, node_id(b));
    }
  std::vector<Site> sites;
  for (const auto& [name, id] : names) sites.push_back({id, std::string(name)});
  return sites;
}

Result<void> validate_file(const Options& options, std::size_t n) {
  const std::vector<Site> sites = named_sites(options);
  if (sites.size() != n && !(sites.empty() && n == 1))
    return fail("topology.file = \"{}\": names {} nodes, expected every node once or more; n = {}",
                options.file, sites.size(), n);
  TRY(const Graph graph, build(options, sites));
  if (!graph.is_connected())
    return fail(
        "topology.file = \"{}\": \"{}\" cannot reach every node; expected a connected graph",
        options.file, sites.front().name);
  return {};
}

// A name in `names` that is not in `known`.
const Site* first_unknown(std::span<const Site> names, std::span<const Site> known) {
  std::map<std::string_view, NodeId> index;
  for (const Site& site : known) index.emplace(site.name, site.id);
  for (const Site& site : names)
    if (!index.contains(site.name)) return &site;
  return nullptr;
}

}  // namespace

Result<void> validate(const Options& options, std::size_t n) {
  if (n == 0) return fail("n = 0: expected a number of nodes from 1 to {}", kMembersLimit);
  Options of_all = options;
  // The kind is that of the graph inside each group, which may have any size.
  if (options.sequence.moves() && options.sequence.row->is_by_group) of_all.kind = Kind::automatic;
  TRY_DO(validate_size(of_all, n));
  TRY_DO(validate_degree(of_all, n));
  if (options.kind == Kind::file) return validate_file(options, n);
  return {};
}

Result<void> validate(const Options& options, std::span<const Site> sites) {
  if (options.kind == Kind::file && sites.size() > 1) {
    const std::vector<Site> named = named_sites(options);
    if (const Site* stranger = first_unknown(named, sites))
      return fail("topology.file = \"{}\": names \"{}\", expected names of nodes, such as \"{}\"",
                  options.file, stranger->name, sites.front().name);
    if (const Site* lonely = first_unknown(sites, named))
      return fail("topology.file = \"{}\": has no edge of \"{}\", expected one for every node",
                  options.file, lonely->name);
  }
  return validate(options, sites.size());
}

}  // namespace starling::topology
