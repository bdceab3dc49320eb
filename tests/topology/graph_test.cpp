#include "topology/graph.h"

#include "tests/topology/sites.h"

using namespace starling::topology;

TEST_CASE("Loops and repeated edges do not count") {
  const Graph graph = undirected(3, {{0, 1}, {1, 0}, {1, 1}, {0, 1}});
  CHECK(graph.edge_count() == 1);
  CHECK(graph.in[1] == std::vector<int>{0});
  CHECK(graph.degrees().most == 1);
  CHECK(graph.degrees().least == 0);
}

TEST_CASE("A graph is directed when an edge lacks its reverse") {
  CHECK(directed(2, {{0, 1}}).is_directed());
  CHECK_FALSE(directed(2, {{0, 1}, {1, 0}}).is_directed());
  CHECK(directed(3, {{0, 1}, {1, 2}, {2, 0}}).edge_count() == 3);
}

TEST_CASE("A directed graph is connected when everyone reaches everyone") {
  CHECK(directed(3, {{0, 1}, {1, 2}, {2, 0}}).is_connected());
  CHECK_FALSE(directed(3, {{0, 1}, {1, 2}, {0, 2}}).is_connected());
  CHECK_FALSE(undirected(3, {{0, 1}}).is_connected());
}

TEST_CASE("The diameter is the longest of the shortest paths") {
  CHECK(graph_of(Kind::path, 10).diameter() == 9);
  CHECK(graph_of(Kind::ring, 10).diameter() == 5);
  CHECK(graph_of(Kind::star, 10).diameter() == 2);
  CHECK(graph_of(Kind::complete, 10).diameter() == 1);
  CHECK(graph_of(Kind::grid, 16).diameter() == 6);
  CHECK(graph_of(Kind::torus, 16).diameter() == 4);
  CHECK(graph_of(Kind::hypercube, 16).diameter() == 4);
  CHECK(graph_of(Kind::exponential, 16).diameter() == 4);
  CHECK(graph_of(Kind::path, 1).diameter() == 0);
  CHECK_FALSE(undirected(2, {}).diameter().has_value());
}
