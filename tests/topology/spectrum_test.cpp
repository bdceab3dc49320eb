#include "topology/spectrum.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "tests/topology/matrix.h"
#include "tests/topology/sites.h"

using namespace starling;
using namespace starling::topology;

namespace {

// To the six digits of the table.
void check_modulus(Kind kind, int n, double expected) {
  CAPTURE(to_string(kind));
  CAPTURE(n);
  CHECK(std::abs(second_modulus(graph_of(kind, n)) - expected) < 5e-7);
}

double ring_modulus(int n) {
  return (1 + 2 * std::cos(2 * std::numbers::pi / n)) / 3;
}

std::optional<std::uint64_t> rounds_to_consensus(const Graph& graph) {
  return topology::rounds_to_consensus(graph, second_modulus(graph));
}

// One edge a vertex: round t of the one-peer exponential sequence sends 2^(t mod log2 n) ahead. The
// weights of log2 n consecutive rounds multiply to exact averaging. REQUIRES a power of two.
Graph one_peer_exponential(int n, int round) {
  const int hop = 1 << round % (std::bit_width(static_cast<unsigned>(n)) - 1);
  Edges edges;
  for (int i = 0; i < n; ++i) edges.emplace_back(i, (i + hop) % n);
  return directed(n, edges);
}

}  // namespace

TEST_CASE("Sixteen nodes have the second eigenvalues of the table") {
  check_modulus(Kind::complete, 16, 0);
  check_modulus(Kind::ring, 16, .949253);
  check_modulus(Kind::path, 16, .987190);
  check_modulus(Kind::star, 16, .937500);
  check_modulus(Kind::grid, 16, .868641);
  check_modulus(Kind::torus, 16, .600000);
  check_modulus(Kind::hypercube, 16, .600000);
  check_modulus(Kind::exponential, 16, .600000);
}

TEST_CASE("Other sizes have the second eigenvalues of the table") {
  check_modulus(Kind::ring, 4, .333333);
  check_modulus(Kind::ring, 8, .804738);
  check_modulus(Kind::ring, 32, .987190);
  check_modulus(Kind::ring, 64, .996790);
  check_modulus(Kind::torus, 9, .4);
  check_modulus(Kind::torus, 25, .723607);
  check_modulus(Kind::torus, 36, .8);
  check_modulus(Kind::torus, 64, .882843);
  check_modulus(Kind::hypercube, 8, .5);
  check_modulus(Kind::hypercube, 32, .666667);
  check_modulus(Kind::hypercube, 64, .714286);
}

TEST_CASE("Second eigenvalues follow the formulas of the table") {
  for (int n = 4; n <= 40; ++n) {
    check_modulus(Kind::complete, n, 0);
    check_modulus(Kind::ring, n, ring_modulus(n));
    check_modulus(Kind::path, n, (1 + 2 * std::cos(std::numbers::pi / n)) / 3);
    check_modulus(Kind::star, n, 1 - 1.0 / n);
    const double hops = std::ceil(std::log2(n));
    CHECK(second_modulus(graph_of(Kind::exponential, n)) <= 1 - 2 / (1 + hops) + 1e-9);
  }
  for (int s = 4; s <= 8; ++s)
    check_modulus(Kind::torus, s * s, (3 + 2 * std::cos(2 * std::numbers::pi / s)) / 5);
  for (int k = 1; k <= 6; ++k) check_modulus(Kind::hypercube, 1 << k, (k - 1.0) / (k + 1));
}

TEST_CASE("Sixteen nodes of random degree 4 have a second eigenvalue of about .73") {
  // The mean of the pairing model is .745 over 20 graphs; it grows with n, towards (1 + 2 sqrt 3) /
  // 5 = .893.
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    sum += second_modulus(graph_of(Options{.kind = Kind::random_regular, .seed = seed}, 16));
  CHECK(std::abs(sum / 40 - .73) < .02);
}

TEST_CASE("Large graphs have the second eigenvalue of their formula") {
  CHECK(second_modulus(graph_of(Kind::ring, 600)) ==
        doctest::Approx(ring_modulus(600)).epsilon(1e-9));
  CHECK(second_modulus(graph_of(Kind::ring, 3000)) ==
        doctest::Approx(ring_modulus(3000)).epsilon(1e-6));
  CHECK(second_modulus(graph_of(Kind::torus, 900)) ==
        doctest::Approx((3 + 2 * std::cos(2 * std::numbers::pi / 30)) / 5).epsilon(1e-9));
  CHECK(second_modulus(graph_of(Kind::hypercube, 1024)) == doctest::Approx(9.0 / 11).epsilon(1e-9));
  CHECK(second_modulus(graph_of(Kind::exponential, 1024)) ==
        doctest::Approx(9.0 / 11).epsilon(1e-6));
  CHECK(second_modulus(graph_of(Kind::complete, 600)) == 0);
}

TEST_CASE("A graph in pieces never agrees") {
  const Graph pieces = undirected(4, {{0, 1}, {2, 3}});
  CHECK(second_modulus(pieces) == 1);
  CHECK_FALSE(rounds_to_consensus(pieces).has_value());
}

TEST_CASE("Sixteen nodes agree after the rounds of the table") {
  CHECK(rounds_to_consensus(graph_of(Kind::path, 16)) == 896);
  CHECK(rounds_to_consensus(graph_of(Kind::ring, 16)) == 225);
  CHECK(rounds_to_consensus(graph_of(Kind::star, 16)) == 213);
  CHECK(rounds_to_consensus(graph_of(Kind::grid, 16)) == 91);
  CHECK(rounds_to_consensus(graph_of(Kind::torus, 16)) == 26);
  CHECK(rounds_to_consensus(graph_of(Kind::hypercube, 16)) == 27);
  CHECK(rounds_to_consensus(graph_of(Kind::exponential, 16)) == 25);
  CHECK(rounds_to_consensus(graph_of(Kind::complete, 16)) == 1);
  CHECK(rounds_to_consensus(graph_of(Kind::complete, 1)) == 0);
}

TEST_CASE("Log n rounds of the one-peer exponential graphs average exactly") {
  for (int k = 0; k <= 6; ++k) {
    const int n = 1 << k;
    Eigen::MatrixXd product = Eigen::MatrixXd::Identity(n, n);
    for (int round = 0; round < k; ++round) {
      const Graph graph = one_peer_exponential(n, round + 5 * k);
      CHECK(graph.degrees().most == 1);
      product = mixing_matrix(graph) * product;
    }
    CHECK((product.array() - 1.0 / n).abs().maxCoeff() == 0);
  }
}

TEST_CASE("Random matchings leave what their modulus says") {
  // On the complete graph of n an edge is drawn in every (n - 1)-th round.
  for (const int n : {4, 6, 8})
    CHECK(matching_modulus(graph_of(Kind::complete, n)) ==
          doctest::Approx(std::sqrt(1 - 0.5 * n / (n - 1.0))));
  CHECK(matching_modulus(graph_of(Kind::complete, 2)) == 0);
  CHECK(matching_modulus(graph_of(Kind::complete, 2), 0.5) == doctest::Approx(0.5));
  // On a ring of four, two opposite edges are.
  CHECK(matching_modulus(graph_of(Kind::ring, 4)) == doctest::Approx(std::sqrt(0.5)).epsilon(0.02));
  // Half the share moves by three quarters in the mean of squares.
  CHECK(matching_modulus(graph_of(Kind::ring, 4), 0.5) ==
        doctest::Approx(std::sqrt(0.625)).epsilon(0.02));
}
