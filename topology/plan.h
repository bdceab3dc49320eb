// Plan: the cost of a graph and how well it mixes, before deployment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "topology/build.h"
#include "topology/graph.h"
#include "topology/sequence.h"

namespace starling::topology {

struct Plan {
  std::string kind;  // as the caller names it
  int n = 0;
  std::size_t edges = 0;  // undirected ones count once
  DegreeRange degree;     // vectors that a node receives each round
  bool directed = false;
  bool connected = false;
  std::optional<int> diameter = {};         // hops; only when connected
  std::optional<double> connectivity = {};  // see connectivity.h
  double lambda2 = 0;                       // second eigenvalue modulus of W, or Sequence::modulus
  double spectral_gap = 0;                  // 1 - lambda2; larger mixes faster
  std::optional<std::uint64_t> rounds_to_consensus =
      {};  // to cut the error by 1e-6, when connected
};

// `sequence`: of the graph; null: still.
Plan plan(const Graph& graph, std::string kind, const Sequence* sequence = nullptr);

// The graph in the DOT language, every site a vertex with its name, dashed if it is hidden.
// REQUIRES one site a vertex.
std::string dot(const Graph& graph, std::span<const Site> sites);

}  // namespace starling::topology
