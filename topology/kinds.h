// The kinds of graphs of topology.kind. Each kind has one row, which holds everything that depends
// on it; the graph, its checks, settings and help read the row. To add a topology: its value of
// Kind in topology/options.h, its rule in shapes.cpp or drawn.cpp, its row in kinds.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/build.h"
#include "topology/graph.h"
#include "topology/options.h"

namespace starling::topology {

// What topology.degree may be for a kind that has it.
struct DegreeRule {
  int least = 0;  // 0: the kind has no degree
  bool is_even = false;
  bool is_below_nodes = false;    // fewer than there are nodes
  bool is_everywhere = false;     // every node has exactly that degree
  std::string_view problem = {};  // for people: why another degree is invalid
};

struct KindRow {
  Kind kind;
  std::string_view name;  // as users write it
  // Both are null for auto, see resolve(). Those of one vertex may contain duplicates and the
  // vertex itself.
  Result<Graph> (*make)(const Options& options, std::span<const Site> sites) = nullptr;
  Result<Neighbors> (*near)(const Options& options, std::span<const Site> sites,
                            int vertex) = nullptr;
  bool is_directed = false;  // the edges lead one way
  DegreeRule degree = {};
  // Why the kind is not planned for n nodes; empty if it may be. Null: every number fits.
  std::string (*size_problem)(std::size_t n) = nullptr;
  // The part of all pairs that have an edge, for kinds whose edges grow as n^2.
  double (*density)(const Options& options) = nullptr;
};

// In the order of Kind.
std::span<const KindRow> kinds();
const KindRow& row_of(Kind kind);

}  // namespace starling::topology
