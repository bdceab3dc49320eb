#include "topology/plan.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "base/check.h"
#include "topology/connectivity.h"
#include "topology/spectrum.h"

namespace starling::topology {

namespace {

// In a quoted DOT string only the quote ends it, and a backslash may start an escape.
std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

Plan plan(const Graph& graph, std::string kind, const Sequence* sequence) {
  Plan plan{.kind = std::move(kind),
            .n = graph.size(),
            .edges = graph.edge_count(),
            .degree = graph.degrees(),
            .directed = graph.is_directed(),
            .connected = graph.is_connected(),
            .diameter = graph.diameter(),
            .lambda2 = sequence ? sequence->modulus(1) : second_modulus(graph)};
  if (const auto mode = connectivity(graph)) plan.connectivity = mode->value;
  plan.spectral_gap = 1 - plan.lambda2;
  plan.rounds_to_consensus =
      sequence ? rounds_to_consensus(*sequence, plan.n) : rounds_to_consensus(graph, plan.lambda2);
  return plan;
}

std::string dot(const Graph& graph, std::span<const Site> sites) {
  ENSURE(sites.size() == graph.out.size(), "every vertex is a site");
  const bool directed = graph.is_directed();
  std::string text = directed ? "digraph starling {\n" : "graph starling {\n";
  const auto end = std::back_inserter(text);
  for (const Site& site : sites)
    fmt::format_to(end, "  {}{};\n", quoted(site.name), site.is_hidden ? " [style=dashed]" : "");
  for (int i = 0; i < graph.size(); ++i)
    for (int j : graph.out[i])
      if (directed || i < j)
        fmt::format_to(end, "  {} {} {};\n", quoted(sites[i].name), directed ? "->" : "--",
                       quoted(sites[j].name));
  return text + "}\n";
}

}  // namespace starling::topology
