// Graphs whose shape follows from the number of vertices alone, each as the rule of one vertex. All
// are connected for every n.
#pragma once

#include <optional>
#include <vector>

#include "topology/graph.h"

namespace starling::topology {

// The vertices that `vertex` of n sends to; may contain duplicates and the vertex itself.
using Rule = std::vector<int> (*)(int n, int vertex);

// The graph in which every vertex sends as the rule says; undirected, with the reverse edges.
Graph directed_by(int n, Rule rule);
Graph undirected_by(int n, Rule rule);
// Vertex k is joined with k + hop (mod n) for every hop.
Graph circulant(int n, const std::vector<int>& hops);

std::vector<int> near_in_path(int n, int vertex);
std::vector<int> near_in_ring(int n, int vertex);
std::vector<int> near_in_complete(int n, int vertex);
// Vertex 0 is the hub.
std::vector<int> near_in_star(int n, int vertex);

struct Rectangle {
  int rows = 0;
  int columns = 0;
};
// The factorisation of n nearest to a square with 3 <= rows <= columns <= 2 rows, if there is one.
// Two rows are no torus: the way around and the way back would be the same edge.
std::optional<Rectangle> near_square(int n);

// rows x columns, both wrapped around; for an n that is not near-square the circulant graph with
// hops {1, floor(sqrt n)}, which is a torus with a twist.
std::vector<int> near_in_torus(int n, int vertex);
// Rows of ceil(sqrt n) vertices; the last row may be shorter.
std::vector<int> near_in_grid(int n, int vertex);
// Vertices whose numbers differ in one bit. If n is no power of two, the subgraph of the next
// larger cube on the numbers below n (Katseff: Incomplete hypercubes, 1988): clearing bits leads to
// vertex 0, so it is connected, and the degree is at most ceil(log2 n).
std::vector<int> near_in_hypercube(int n, int vertex);
// Directed: i sends to i + 2^b (mod n) for b < ceil(log2 n). The vertices that `vertex` sends to,
// and receives from.
std::vector<int> ahead_in_exponential(int n, int vertex);
std::vector<int> behind_in_exponential(int n, int vertex);

}  // namespace starling::topology
