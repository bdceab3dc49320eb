#include "topology/shapes.h"

#include <bit>

namespace starling::topology {
namespace {

// ceil(log2 n), for n >= 1.
int bits_of(int n) {
  return std::bit_width(static_cast<unsigned>(n - 1));
}

// floor(sqrt n) in whole numbers.
int root_of(int n) {
  int root = 0;
  while ((root + 1) * (root + 1) <= n) ++root;
  return root;
}

Edges hops_ahead(int n, const std::vector<int>& hops) {
  Edges edges;
  for (int i = 0; i < n; ++i)
    for (int hop : hops) edges.emplace_back(i, (i + hop) % n);
  return edges;
}

}  // namespace

Graph path(int n) {
  Edges edges;
  for (int i = 1; i < n; ++i) edges.emplace_back(i - 1, i);
  return undirected(n, edges);
}

Graph ring(int n) {
  return circulant(n, {1});
}

Graph complete(int n) {
  Edges edges;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) edges.emplace_back(j, i);
  return undirected(n, edges);
}

Graph star(int n) {
  Edges edges;
  for (int i = 1; i < n; ++i) edges.emplace_back(0, i);
  return undirected(n, edges);
}

Graph circulant(int n, const std::vector<int>& hops) {
  return undirected(n, hops_ahead(n, hops));
}

std::optional<Rectangle> near_square(int n) {
  for (int rows = root_of(n); rows >= 3; --rows)
    if (n % rows == 0 && n / rows <= 2 * rows) return Rectangle{rows, n / rows};
  return std::nullopt;
}

Graph torus(int n) {
  const std::optional<Rectangle> shape = near_square(n);
  if (!shape) return circulant(n, {1, root_of(n)});
  const auto [rows, columns] = *shape;
  Edges edges;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int here = row * columns + column;
      edges.emplace_back(here, row * columns + (column + 1) % columns);
      edges.emplace_back(here, (row + 1) % rows * columns + column);
    }
  }
  return undirected(n, edges);
}

Graph grid(int n) {
  const int root = root_of(n);
  const int columns = root * root < n ? root + 1 : root;
  Edges edges;
  for (int here = 0; here < n; ++here) {
    if (here % columns > 0) edges.emplace_back(here, here - 1);
    if (here >= columns) edges.emplace_back(here, here - columns);
  }
  return undirected(n, edges);
}

Graph hypercube(int n) {
  Edges edges;
  for (int i = 0; i < n; ++i)
    for (int bit = 1; bit <= i; bit *= 2)
      if (i & bit) edges.emplace_back(i, i ^ bit);
  return undirected(n, edges);
}

Graph exponential(int n) {
  std::vector<int> hops;
  for (int hop = 1; hop < n; hop *= 2) hops.push_back(hop);
  return directed(n, hops_ahead(n, hops));
}

Graph one_peer_exponential(int n, std::uint64_t round) {
  if (n < 2) return directed(n, {});
  return directed(n, hops_ahead(n, {1 << (round % static_cast<std::uint64_t>(bits_of(n)))}));
}

}  // namespace starling::topology
