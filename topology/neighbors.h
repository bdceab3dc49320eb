// neighbors: whom one node exchanges with, without the graph of all. Members come and go, and each
// time every node asks only this.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "topology/build.h"

namespace starling::topology {

// Of one vertex; ascending, without the vertex itself or duplicates.
struct Neighbors {
  std::vector<int> out;  // those who hear it
  std::vector<int> in;   // those whom it hears

  bool operator==(const Neighbors&) const = default;
};

// The same as build() says of that vertex, by a rule of the kind that looks at the vertex alone:
// O(n) at most. Of small-world and random-regular, where what is far away decides whom a vertex
// knows, the whole graph is made. REQUIRES a vertex of the sites.
Result<Neighbors> neighbors(const Options& options, std::span<const Site> sites, int vertex);

}  // namespace starling::topology
