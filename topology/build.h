// build: from the members to the graph. Everyone who knows the same members, in the natural order
// of their names, computes the same graph without asking anybody.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "topology/graph.h"
#include "topology/options.h"

namespace starling::topology {

struct Site {
  NodeId id;
  std::string name;
};

// What auto stands for with n nodes; any other kind stands for itself.
Kind resolve(Kind kind, std::size_t n);

// The graph of the members that are there now; vertex k is the k-th site. Members come and go, so a
// number that does not fit the kind is no error: the graph is the nearest that is connected, as its
// function in shapes.h or drawn.h says. Kind file is as connected as the edges whose two ends are
// there. The only error is a degree that the kind cannot have.
// REQUIRES different ids.
Result<Graph> build(const Options& options, std::span<const Site> sites);

// Whom one vertex exchanges with; ascending, without the vertex itself or duplicates.
struct Neighbors {
  std::vector<int> out;  // those who hear it
  std::vector<int> in;   // those whom it hears

  bool operator==(const Neighbors&) const = default;
};

// The same as build() says of that vertex, by a rule of the kind that looks at the vertex alone:
// O(n) at most. Members come and go, and each time every node asks only this. Of small-world and
// random-regular, where what is far away decides whom a vertex knows, the whole graph is made.
// REQUIRES a vertex of the sites.
Result<Neighbors> neighbors(const Options& options, std::span<const Site> sites, int vertex);

// For a planned number of nodes, before anything starts: refuses kinds that n does not fit.
Result<void> validate(const Options& options, std::size_t n);
// The same, and the edge list must be connected and name every site and nobody else.
Result<void> validate(const Options& options, std::span<const Site> sites);

}  // namespace starling::topology
