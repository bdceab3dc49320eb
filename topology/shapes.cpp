#include "topology/shapes.h"

#include <initializer_list>
#include <numeric>

namespace starling::topology {
namespace {

// floor(sqrt n) in whole numbers.
int root_of(int n) {
  int root = 0;
  while ((root + 1) * (root + 1) <= n) ++root;
  return root;
}

// The vertices at these hops, both ways.
std::vector<int> around(int n, int vertex, std::initializer_list<int> hops) {
  std::vector<int> near;
  for (const int hop : hops) {
    near.push_back((vertex + hop) % n);
    near.push_back((vertex + n - hop % n) % n);
  }
  return near;
}

Edges edges_by(int n, Rule rule) {
  Edges edges;
  for (int i = 0; i < n; ++i)
    for (const int j : rule(n, i)) edges.emplace_back(i, j);
  return edges;
}

}  // namespace

Graph directed_by(int n, Rule rule) {
  return directed(n, edges_by(n, rule));
}

Graph undirected_by(int n, Rule rule) {
  return undirected(n, edges_by(n, rule));
}

Graph circulant(int n, const std::vector<int>& hops) {
  Edges edges;
  for (int i = 0; i < n; ++i)
    for (const int hop : hops) edges.emplace_back(i, (i + hop) % n);
  return undirected(n, edges);
}

std::vector<int> near_in_path(int n, int vertex) {
  std::vector<int> near;
  if (vertex > 0) near.push_back(vertex - 1);
  if (vertex + 1 < n) near.push_back(vertex + 1);
  return near;
}

std::vector<int> near_in_ring(int n, int vertex) {
  return around(n, vertex, {1});
}

std::vector<int> near_in_complete(int n, int) {
  std::vector<int> near(static_cast<std::size_t>(n));
  std::iota(near.begin(), near.end(), 0);
  return near;
}

std::vector<int> near_in_star(int n, int vertex) {
  return vertex == 0 ? near_in_complete(n, vertex) : std::vector<int>{0};
}

std::optional<Rectangle> near_square(int n) {
  for (int rows = root_of(n); rows >= 3; --rows)
    if (n % rows == 0 && n / rows <= 2 * rows) return Rectangle{rows, n / rows};
  return std::nullopt;
}

std::vector<int> near_in_torus(int n, int vertex) {
  const std::optional<Rectangle> shape = near_square(n);
  if (!shape) return around(n, vertex, {1, root_of(n)});
  const auto [rows, columns] = *shape;
  const int row = vertex / columns, column = vertex % columns;
  return {row * columns + (column + 1) % columns, row * columns + (column + columns - 1) % columns,
          (row + 1) % rows * columns + column, (row + rows - 1) % rows * columns + column};
}

std::vector<int> near_in_grid(int n, int vertex) {
  const int root = root_of(n);
  const int columns = root * root < n ? root + 1 : root;
  std::vector<int> near;
  if (vertex % columns > 0) near.push_back(vertex - 1);
  if (vertex % columns + 1 < columns && vertex + 1 < n) near.push_back(vertex + 1);
  if (vertex >= columns) near.push_back(vertex - columns);
  if (vertex + columns < n) near.push_back(vertex + columns);
  return near;
}

std::vector<int> near_in_hypercube(int n, int vertex) {
  std::vector<int> near;
  for (int bit = 1; bit < n; bit *= 2)
    if ((vertex ^ bit) < n) near.push_back(vertex ^ bit);
  return near;
}

std::vector<int> ahead_in_exponential(int n, int vertex) {
  std::vector<int> ahead;
  for (int hop = 1; hop < n; hop *= 2) ahead.push_back((vertex + hop) % n);
  return ahead;
}

std::vector<int> behind_in_exponential(int n, int vertex) {
  std::vector<int> behind;
  for (int hop = 1; hop < n; hop *= 2) behind.push_back((vertex + n - hop) % n);
  return behind;
}

}  // namespace starling::topology
