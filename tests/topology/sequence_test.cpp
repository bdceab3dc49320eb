// Sequences of graphs by closed forms: after how many rounds they reach the exact average.
#include "topology/sequence.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "tests/topology/sites.h"
#include "topology/matching.h"

using namespace starling;
using namespace starling::topology;

namespace {

const SequenceRow* row_named(std::string_view name) {
  const auto row = std::ranges::find(sequences(), name, &SequenceRow::name);
  REQUIRE(row != sequences().end());
  return &*row;
}

struct Example {
  std::shared_ptr<const Sequence> sequence;
  Graph graph;
};

Example example(const Options& options, int n) {
  const std::vector<Site> sites = sites_of(n);
  const Graph graph = graph_of(options, n);
  return {sequence_of(options, sites, graph), graph};
}

Example base_of(int base, int n) {
  return example({.sequence = {row_named("base"), base}}, n);
}

Example one_peer(Kind kind, int n) {
  return example({.kind = kind, .sequence = {row_named("one-peer")}}, n);
}

// The least number of rounds that brings every start to the exact average; nothing if a period does
// not.
std::optional<std::size_t> exact_after(const Sequence& sequence, int n) {
  Eigen::MatrixXd left = Eigen::MatrixXd::Identity(n, n).array() - 1.0 / n;
  for (std::size_t t = 0; t < sequence.period(); ++t) {
    const Eigen::MatrixXd before = left;
    for (int i = 0; i < n; ++i)
      for (const Turn& turn : sequence.turns(i, t))
        if (turn.in) left.row(i) += turn.weight * (before.row(turn.vertex) - before.row(i));
    if (left.norm() < 1e-14 * n) return t + 1;
  }
  return std::nullopt;
}

// Both ends of a turn have the same weight, over an edge of the graph, and those of a vertex sum to
// less than 1.
void expect_consistent(const Example& of, std::uint64_t rounds) {
  for (std::uint64_t t = 0; t < rounds; ++t) {
    const auto round = of.sequence->round(t);
    REQUIRE(round.size() == of.graph.in.size());
    for (int i = 0; i < of.graph.size(); ++i) {
      const std::vector<Turn>& turns = round[static_cast<std::size_t>(i)];
      CHECK(turns == of.sequence->turns(i, t));
      double sum = 0;
      for (const Turn& turn : turns) {
        const auto& back = round[static_cast<std::size_t>(turn.vertex)];
        CHECK(std::ranges::count(back, Turn{i, turn.weight, turn.out, turn.in}) == 1);
        const auto& near = of.graph.in[static_cast<std::size_t>(i)];
        if (turn.in) CHECK(std::ranges::binary_search(near, turn.vertex));
        sum += turn.in ? turn.weight : 0;
      }
      CHECK(sum < 1);
    }
  }
}

// The number of the group of a site by name; a site without one is its own.
std::size_t group_of(const std::vector<Site>& sites, int vertex) {
  const std::string& name = sites[static_cast<std::size_t>(vertex)].group;
  if (name.empty()) return static_cast<std::size_t>(vertex) + 2;
  return name == "a" ? 0 : 1;
}

// 2 floor(log2 n) + 1 rounds, or log2 n.
std::size_t rounds_of_base_two(int n) {
  const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(n)) - 1);
  return std::has_single_bit(static_cast<unsigned>(n)) ? bits : 2 * bits + 1;
}

}  // namespace

TEST_CASE("Base two reaches the exact average after twice log n rounds for every n") {
  for (int n = 2; n <= 33; ++n) {
    CAPTURE(n);
    const Example two = base_of(2, n);
    expect_consistent(two, two.sequence->period());
    CHECK(exact_after(*two.sequence, n) == rounds_of_base_two(n));
    CHECK(two.sequence->period() == rounds_of_base_two(n));
    CHECK(traffic(*two.sequence, n).most_turns == 1);
    CHECK(two.sequence->modulus(1) == 0);
  }
  CHECK(base_of(2, 100).sequence->period() == 13);
  CHECK(base_of(2, 1000).sequence->period() == 19);
}

TEST_CASE("With more neighbours a round base reaches the exact average sooner") {
  for (const int base : {3, 4, 5})
    for (int n = 2; n <= 33; ++n) {
      CAPTURE(base);
      CAPTURE(n);
      const Example more = base_of(base, n);
      expect_consistent(more, more.sequence->period());
      CHECK(exact_after(*more.sequence, n).has_value());
      CHECK(traffic(*more.sequence, n).most_turns <= base - 1);
      const double digits = std::ceil(std::log(n) / std::log(base) - 1e-9);
      CHECK(static_cast<double>(more.sequence->period()) <= 2 * digits + 1);
    }
  CHECK(base_of(3, 8).sequence->period() == 3);  // 2 * 2 * 2
  CHECK(base_of(4, 12).sequence->period() == 2);
  CHECK(base_of(3, 27).sequence->period() == 3);
  CHECK(base_of(4, 64).sequence->period() == 3);
}

TEST_CASE("By one hop a round the exact average is reached where n is a power of two") {
  for (const int n : {2, 4, 8, 16, 32}) {
    const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(n)) - 1);
    for (const Kind kind : {Kind::exponential, Kind::hypercube}) {
      const Example hops = one_peer(kind, n);
      expect_consistent(hops, bits);
      CHECK(exact_after(*hops.sequence, n) == bits);
      CHECK(traffic(*hops.sequence, n).mean_turns == doctest::Approx(1));
    }
  }
  const Example odd = one_peer(Kind::exponential, 5);
  expect_consistent(odd, odd.sequence->period());
  CHECK_FALSE(exact_after(*odd.sequence, 5).has_value());
  CHECK(odd.sequence->modulus(1) < 1);
  CHECK(odd.sequence->modulus(1) > 0.1);
}

TEST_CASE("A sequence of matchings has the pairs of each with half weight") {
  const Options options{.kind = Kind::torus, .seed = 7, .sequence = {row_named("matching")}};
  const Example drawn = example(options, 16);
  expect_consistent(drawn, 20);
  CHECK(drawn.sequence->period() == 0);
  const std::vector<int> partners = matching(drawn.graph, 7, 3);
  for (int i = 0; i < 16; ++i) {
    const int partner = partners[static_cast<std::size_t>(i)];
    const auto expected = partner < 0 ? std::vector<Turn>() : std::vector<Turn>{{partner, 0.5}};
    CHECK(drawn.sequence->turns(i, 3) == expected);
  }
}

// Of 12 nodes 4: each in a third of the rounds.
TEST_CASE("A sample draws so many nodes a round and all equally often") {
  const Options options{.kind = Kind::complete, .seed = 7, .sequence = {row_named("sample"), 4}};
  const Example drawn = example(options, 12);
  expect_consistent(drawn, 20);
  CHECK(drawn.sequence->rounds_a_turn() == 3);
  std::vector<int> turns(12);
  constexpr int kRounds = 3000;
  for (std::uint64_t t = 0; t < kRounds; ++t) {
    int all = 0;
    for (int i = 0; i < 12; ++i) {
      const bool has_turn = !drawn.sequence->turns(i, t).empty();
      turns[static_cast<std::size_t>(i)] += has_turn;
      all += has_turn;
    }
    CHECK(all == 4);
  }
  // Three standard deviations of a binomial count.
  for (const int count : turns)
    CHECK(std::abs(count - kRounds / 3) < 3 * std::sqrt(kRounds * 2 / 9.));
  CHECK(drawn.sequence->modulus(1) == doctest::Approx(std::sqrt(1 - 2 * 12 / (12 * 11.))));
  CHECK(traffic(*drawn.sequence, 12).mean_turns == doctest::Approx(1 / 3.));
}

// Groups of 4, 3, 1 and another 1: no name is a group of its own.
TEST_CASE("Clusters average inside groups and by one pair of each two groups in every K-th round") {
  std::vector<Site> sites = sites_of(9);
  for (const int k : {0, 2, 5, 8}) sites[static_cast<std::size_t>(k)].group = "a";
  for (const int k : {1, 3, 4}) sites[static_cast<std::size_t>(k)].group = "b";
  const Options options{.sequence = {row_named("clusters"), 5}};
  const Graph graph = *build(options, sites);
  const Example clusters{sequence_of(options, sites, graph), graph};
  CHECK(clusters.sequence->period() == 20);  // each of the four of group a has its turn
  expect_consistent(clusters, 20);
  std::map<std::pair<int, int>, int> met;
  for (std::uint64_t t = 0; t < 20; ++t) {
    std::map<std::pair<std::size_t, std::size_t>, int> pairs;
    for (int i = 0; i < 9; ++i)
      for (const Turn& turn : clusters.sequence->turns(i, t)) {
        const std::size_t group[] = {group_of(sites, i), group_of(sites, turn.vertex)};
        CHECK((group[0] == group[1]) == (t % 5 != 4));
        ++pairs[{group[0], group[1]}];
        if (t % 5 == 4) ++met[{i, turn.vertex}];
      }
    for (const auto& [groups, count] : pairs)
      CHECK(count == (t % 5 == 4 ? 1 : groups.first == 0 ? 12 : 6));
    CHECK(pairs.size() == (t % 5 == 4 ? 12 : 2));
  }
  // Each of group a has met each other group once.
  for (const int a : {0, 2, 5, 8})
    for (const int single : {6, 7}) CHECK(met[{a, single}] == 1);
  CHECK(clusters.sequence->modulus(1) < 1);
}

// Groups of 5 and 4.
TEST_CASE("Inside a group clusters average over the graph of its kind") {
  std::vector<Site> sites = sites_of(9);
  for (std::size_t k = 0; k < 9; ++k) sites[k].group = k % 2 == 0 ? "a" : "b";
  const Options options{.kind = Kind::ring, .sequence = {row_named("clusters"), 3}};
  CHECK(sequence_problem(options).empty());
  for (const Kind kind : {Kind::file, Kind::exponential})
    CHECK(sequence_problem({.kind = kind, .sequence = options.sequence}) ==
          "takes its rounds from other graphs than " + std::string(to_string(kind)) +
              "; use topology.kind auto, or that of the graph inside each group, such as ring and "
              "random");
  CHECK(validate({.kind = Kind::hypercube, .sequence = options.sequence}, 9).has_value());
  const Graph graph = *build(options, sites);
  const Example rings{sequence_of(options, sites, graph), graph};
  expect_consistent(rings, 15);
  for (int i = 0; i < 9; ++i) {
    const std::vector<Turn> turns = rings.sequence->turns(i, 0);
    CHECK(turns.size() == 2);
    for (const Turn& turn : turns) {
      CHECK(turn.weight == doctest::Approx(1 / 3.));
      CHECK(group_of(sites, i) == group_of(sites, turn.vertex));
    }
  }
  CHECK(rings.sequence->modulus(1) < 1);
}

TEST_CASE("Every sequence has rounds for any number of nodes and none is for a hidden pair") {
  for (const SequenceRow& row : sequences()) {
    if (!row.make) continue;
    for (const KindRow& kind : kinds()) {
      const Options options{.kind = kind.kind, .sequence = {&row, row.least}};
      if (kind.kind == Kind::file || !row.allows(kind.kind)) {
        CHECK(sequence_problem(options).empty() ==
              (kind.kind == Kind::file && row.allows(kind.kind)));
        continue;
      }
      for (const int n : {1, 2, 3, 7, 12}) {
        const Example any = example(options, n);
        REQUIRE(any.sequence);
        expect_consistent(any, 4);
      }
      std::vector<Site> sites = sites_of(9);
      for (const int hidden : {1, 2, 5}) sites[static_cast<std::size_t>(hidden)].is_hidden = true;
      const Graph graph = *build(options, sites);
      const auto sequence = sequence_of(options, sites, graph);
      for (std::uint64_t t = 0; t < 40; ++t)
        for (int i = 0; i < 9; ++i)
          for (const Turn& turn : sequence->turns(i, t))
            CHECK_FALSE((sites[static_cast<std::size_t>(i)].is_hidden &&
                         sites[static_cast<std::size_t>(turn.vertex)].is_hidden));
    }
  }
}
