// Graph: who sends to whom, on vertices 0 .. n-1. Adjacency is sorted, without loops or duplicates.
// An edge i -> j says that i sends to j; the graph is undirected when every edge has its reverse.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace starling::topology {

using Edges = std::vector<std::pair<int, int>>;

struct DegreeRange {
  int least = 0;
  int most = 0;
  double mean = 0;
};

struct Graph {
  std::vector<std::vector<int>> out;  // out[i]: i sends to these
  std::vector<std::vector<int>> in;   // in[i]: i receives from these

  int size() const { return static_cast<int>(in.size()); }
  bool is_directed() const { return out != in; }
  // The in-degree, which is the number of neighbours when undirected.
  int degree(int vertex) const { return static_cast<int>(in[vertex].size()); }
  // Undirected edges count once, directed edges one by one.
  std::size_t edge_count() const;
  DegreeRange degrees() const;
  // Every vertex reaches every other along the edges. True for one vertex and for none.
  bool is_connected() const;
  // The longest of the shortest paths, in hops; nothing when not connected. O(n * edges).
  std::optional<int> diameter() const;

  bool operator==(const Graph&) const = default;
};

// Sorts, drops loops and duplicates. REQUIRES vertices from 0 to n-1.
Graph directed(int n, const Edges& edges);
// The same with the reverse of every edge.
Graph undirected(int n, const Edges& edges);

}  // namespace starling::topology
