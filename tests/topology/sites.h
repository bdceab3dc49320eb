// Clusters for the tests: node-0 .. node-(n-1) in natural order, and the graph of a kind on them.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <vector>

#include "topology/build.h"
#include "topology/kinds.h"

namespace starling::topology {

inline Site site(int number) {
  const std::string name = fmt::format("node-{}", number);
  return {node_id(name), name};
}

inline std::vector<Site> sites_of(int n) {
  std::vector<Site> sites;
  for (int k = 0; k < n; ++k) sites.push_back(site(k));
  return sites;
}

inline Graph graph_of(const Options& options, int n) {
  const Result<Graph> graph = build(options, sites_of(n));
  REQUIRE_MESSAGE(graph.has_value(), (graph ? "" : graph.error().text));
  return *graph;
}

inline Graph graph_of(Kind kind, int n) {
  return graph_of(Options{.kind = kind}, n);
}

// All that need no file.
inline const auto kDrawnKinds = [] {
  std::vector<Kind> drawn;
  for (const KindRow& row : kinds())
    if (row.kind != Kind::file) drawn.push_back(row.kind);
  return drawn;
}();

}  // namespace starling::topology
