#include "topology/plan.h"

#include "tests/topology/sites.h"

using namespace starling::topology;

TEST_CASE("A plan tells what a graph costs and how well it mixes") {
  const Plan torus = plan(graph_of(Kind::torus, 16), "torus");
  CHECK(torus.kind == "torus");
  CHECK(torus.n == 16);
  CHECK(torus.edges == 32);
  CHECK(torus.degree.least == 4);
  CHECK(torus.degree.most == 4);
  CHECK(torus.degree.mean == 4);
  CHECK(torus.diameter == 4);
  CHECK(torus.connected);
  CHECK_FALSE(torus.directed);
  CHECK(torus.lambda2 == doctest::Approx(.6));
  CHECK(torus.spectral_gap == doctest::Approx(.4));
  CHECK(torus.rounds_to_consensus == 26);
}

TEST_CASE("A plan of pieces says so") {
  const Plan pieces = plan(undirected(3, {{0, 1}}), "file");
  CHECK_FALSE(pieces.connected);
  CHECK_FALSE(pieces.diameter.has_value());
  CHECK_FALSE(pieces.rounds_to_consensus.has_value());
  CHECK(pieces.spectral_gap == 0);
}

TEST_CASE("A plan of one node needs no rounds") {
  const Plan alone = plan(graph_of(Kind::automatic, 1), "auto");
  CHECK(alone.connected);
  CHECK(alone.rounds_to_consensus == 0);
  CHECK(alone.spectral_gap == 1);
}

TEST_CASE("A drawing names every node and quotes what needs it") {
  std::vector<Site> sites = sites_of(2);
  sites[1].name = "a\"b\\";
  CHECK(dot(graph_of(Kind::path, 2), sites) ==
        "graph starling {\n  \"node-0\";\n  \"a\\\"b\\\\\";\n  \"node-0\" -- \"a\\\"b\\\\\";\n}\n");
  CHECK(dot(directed(2, {{1, 0}}), sites_of(2)) ==
        "digraph starling {\n  \"node-0\";\n  \"node-1\";\n  \"node-1\" -> \"node-0\";\n}\n");
}
