#include "topology/options.h"

#include <optional>

#include "tests/topology/sites.h"

using namespace starling;
using namespace starling::topology;

namespace {

struct Reading {
  Options options;
  std::vector<std::string> mistakes;
};

Reading read(const std::vector<std::pair<std::string, std::string>>& keys) {
  Schema schema;
  describe(schema);
  const Result<Settings> settings = load_settings(schema, {.keys = keys});
  REQUIRE(settings.has_value());
  Reader reader(*settings);
  Options options = read_options(reader);
  return {std::move(options), reader.mistakes()};
}

std::string refusal(const Result<void>& result) {
  return result ? "" : result.error().text;
}

Options listed(NamedEdges edges) {
  return {.kind = Kind::file, .file = "edges.txt", .edges = std::move(edges)};
}

}  // namespace

TEST_CASE("Without a word the topology is auto") {
  const Reading reading = read({});
  CHECK(reading.mistakes.empty());
  CHECK(reading.options.kind == Kind::automatic);
  CHECK(reading.options.degree == 4);
  CHECK(reading.options.probability == 0.1);
  CHECK(reading.options.seed == 1);
}

TEST_CASE("Every kind has a name that reads back") {
  for (Kind kind : kDrawnKinds)
    CHECK(read({{"topology.kind", std::string(to_string(kind))}}).options.kind == kind);
}

TEST_CASE("Mistakes in the keys are reported with what is allowed") {
  const Reading reading = read({{"topology.kind", "rign"}, {"topology.probability", "1.5"}});
  REQUIRE(reading.mistakes.size() == 2);
  CHECK(reading.mistakes[0].find("topology.kind = \"rign\": expected one of auto, ring") !=
        std::string::npos);
  CHECK(reading.mistakes[1].find("from 0 to 1") != std::string::npos);
}

TEST_CASE("Kind file needs a file and kind random an even degree") {
  CHECK(read({{"topology.kind", "file"}}).mistakes.size() == 1);
  CHECK(read({{"topology.kind", "file"}, {"topology.file", "x"}}).mistakes.empty());
  CHECK(read({{"topology.kind", "random"}, {"topology.degree", "3"}}).mistakes ==
        std::vector<std::string>{"command line: topology.degree = \"3\": topology.kind random is "
                                 "made of rings; expected an even number from 2"});
  CHECK(read({{"topology.kind", "random-regular"}, {"topology.degree", "3"}}).mistakes.empty());
  CHECK_FALSE(build({.kind = Kind::random, .degree = 3}, sites_of(5)).has_value());
}

TEST_CASE("An edge list is names in pairs with comments") {
  const Result<EdgeList> list =
      parse_edges("# the office\na b\n\n  b\tnode-2  # slow\r\nnode-2 -- a", "edges.txt");
  REQUIRE(list.has_value());
  CHECK(list->edges == NamedEdges{{"a", "b"}, {"b", "node-2"}, {"node-2", "a"}});
  CHECK(parse_edges("", "edges.txt")->edges.empty());
  CHECK(parse_edges("0 1\n1 node-2 {}\n", "edges.txt")->edges ==
        NamedEdges{{"node-0", "node-1"}, {"node-1", "node-2"}});
}

TEST_CASE("An edge list may hold edges that lead one way") {
  const Result<EdgeList> list = parse_edges("0 1\n1 -> 2\n2 -> 0\n", "edges.txt");
  REQUIRE(list.has_value());
  CHECK(list->edges == NamedEdges{{"node-0", "node-1"}});
  CHECK(list->arcs == NamedEdges{{"node-1", "node-2"}, {"node-2", "node-0"}});
  Options options = {.kind = Kind::file, .file = "x", .edges = list->edges, .arcs = list->arcs};
  CHECK(is_directed(options));
  const std::vector<Site> sites = sites_of(3);
  const Result<Graph> graph = build(options, sites);
  REQUIRE(graph.has_value());
  CHECK(*graph == directed(3, {{0, 1}, {1, 0}, {1, 2}, {2, 0}}));
  for (int vertex = 0; vertex < 3; ++vertex)
    CHECK(*neighbors(options, sites, vertex) == Neighbors{graph->out[vertex], graph->in[vertex]});
  const std::vector<Term> both = agreed(options);
  std::swap(options.edges, options.arcs);
  CHECK(agreed(options) != both);
}

TEST_CASE("A mistake in an edge list is reported with its line") {
  CHECK(parse_edges("a b\n#\nc", "edges.txt").error().text ==
        "edges.txt:3: \"c\" holds 1 names; expected two names apart by a blank, or by ->");
  CHECK(parse_edges("a b c", "edges.txt").error().text ==
        "edges.txt:1: \"a b c\" holds 3 names; expected two names apart by a blank, or by ->");
  CHECK(parse_edges("0 1\n0 1 0.5", "edges.txt").error().text ==
        "edges.txt:2: \"0 1 0.5\" has a weight; expected two names, for an edge weighs 1 / (1 + "
        "the larger degree of its ends)");
  CHECK(parse_edges("1 node-1", "edges.txt").error().text ==
        "edges.txt:1: \"1 node-1\" joins a node with itself; expected two different names");
  CHECK(parse_edges("a a", "edges.txt").error().text ==
        "edges.txt:1: \"a a\" joins a node with itself; expected two different names");
}

TEST_CASE("A plan refuses what its number of nodes does not fit") {
  const auto refused = [](const Options& options, std::size_t n) {
    return refusal(validate(options, n));
  };
  CHECK(refused({.kind = Kind::torus}, 1) ==
        "topology.kind = \"torus\": needs at least 4 nodes; n = 1");
  CHECK(refused({.kind = Kind::hypercube}, 12) ==
        "topology.kind = \"hypercube\": needs a power of two as number of nodes; n = 12");
  CHECK(refused({.kind = Kind::complete}, 4000) ==
        "topology.kind = \"complete\": has 7998000 edges, allows at most 1000000; n = 4000");
  CHECK(refused({.kind = Kind::ring}, 20000) ==
        "topology.kind = \"ring\": allows at most 4096 nodes; n = 20000");
  CHECK(refused({.kind = Kind::random_regular, .degree = 5}, 5) ==
        "topology.degree = 5: topology.kind random-regular needs more nodes than that; n = 5");
  CHECK(refused({.kind = Kind::random_regular, .degree = 3}, 5) ==
        "topology.degree = 3: an odd degree needs an even number of nodes; n = 5");
  CHECK(refused({.kind = Kind::small_world, .degree = 2}, 5).starts_with("topology.degree = 2: "));
  CHECK(refused({}, 0).starts_with("n = 0: "));
}

TEST_CASE("A plan accepts what fits") {
  for (Kind kind : kDrawnKinds) CHECK(refusal(validate({.kind = kind}, 16)) == "");
  for (Kind kind : {Kind::automatic, Kind::ring, Kind::star, Kind::random, Kind::hypercube})
    CHECK(refusal(validate({.kind = kind}, 1)) == "");
}

TEST_CASE("A plan refuses an edge list of other nodes or in pieces") {
  const std::vector<Site> four = sites_of(4);
  const auto refused = [&](NamedEdges edges) { return refusal(validate(listed(edges), four)); };
  const NamedEdges path = {{"node-0", "node-1"}, {"node-1", "node-2"}, {"node-2", "node-3"}};
  CHECK(refused(path) == "");
  CHECK(refused({{"node-0", "nod-1"}}) ==
        "topology.file = \"edges.txt\": names \"nod-1\", expected names of nodes, such as "
        "\"node-0\"");
  CHECK(refused({{"node-0", "node-1"}, {"node-1", "node-2"}}) ==
        "topology.file = \"edges.txt\": has no edge of \"node-3\", expected one for every node");
  CHECK(refused({{"node-0", "node-1"}, {"node-2", "node-3"}}) ==
        "topology.file = \"edges.txt\": \"node-0\" cannot reach every node; expected a connected "
        "graph");
  CHECK(refusal(validate(listed(path), 5)) ==
        "topology.file = \"edges.txt\": names 4 nodes, expected every node once or more; n = 5");
}
