// The measured mixing rate beside the second eigenvalue modulus.
#include "gossip/edges/mixing_meter.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <vector>

#include "base/prng.h"
#include "topology/build.h"
#include "topology/spectrum.h"
#include "topology/weights.h"

using namespace starling;
using gossip::MixingMeter;

namespace {

topology::Graph graph_of(topology::Kind kind, std::size_t nodes) {
  topology::Options options;
  options.kind = kind;
  std::vector<topology::Site> sites;
  for (std::size_t k = 0; k < nodes; ++k) {
    const std::string name = fmt::format("node-{}", k);
    sites.push_back({node_id(name), name});
  }
  return topology::build(options, sites).value();
}

// The nodes average for two epochs; each pair of a round is left out with that chance.
std::vector<std::optional<double>> measured(const topology::Graph& graph, double loss = 0) {
  const auto nodes = static_cast<std::size_t>(graph.size());
  std::vector<MixingMeter> meters;
  for (std::size_t k = 0; k < nodes; ++k) meters.emplace_back(NodeId{k + 1});
  Prng prng(7);
  for (std::uint64_t round = 1; round <= 2 * MixingMeter::kRoundsAnEpoch; ++round) {
    std::vector<std::uint64_t> probes;
    for (MixingMeter& meter : meters) probes.push_back(meter.begin(round));
    for (int i = 0; i < graph.size(); ++i)
      for (const int j : graph.out[static_cast<std::size_t>(i)]) {
        if (j < i || prng.chance(loss)) continue;
        const double weight = topology::metropolis(graph.degree(i), graph.degree(j));
        const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
        meters[a].mix(weight, {round, probes[a]}, {round, probes[b]});
        meters[b].mix(weight, {round, probes[b]}, {round, probes[a]});
      }
    for (MixingMeter& meter : meters) meter.end();
  }
  std::vector<std::optional<double>> rates;
  for (const MixingMeter& meter : meters) rates.push_back(meter.rate());
  return rates;
}

}  // namespace

TEST_CASE("The measured mixing rate is the second eigenvalue modulus where nothing is lost") {
  using topology::Kind;
  for (const auto& [kind, nodes] : {std::pair{Kind::ring, 8},
                                    {Kind::ring, 16},
                                    {Kind::torus, 16},
                                    {Kind::hypercube, 16},
                                    {Kind::random_regular, 24}}) {
    CAPTURE(topology::to_string(kind));
    CAPTURE(nodes);
    const topology::Graph graph = graph_of(kind, static_cast<std::size_t>(nodes));
    const double expected = topology::second_modulus(graph);
    for (const auto& rate : measured(graph)) {
      REQUIRE(rate);
      CHECK(*rate == doctest::Approx(expected).epsilon(0.03).scale(0));
    }
  }
}

TEST_CASE("Lost vectors show in the mixing rate") {
  const topology::Graph ring = graph_of(topology::Kind::ring, 16);
  const double expected = topology::second_modulus(ring);
  for (const auto& rate : measured(ring, 0.5)) {
    REQUIRE(rate);
    CHECK(1 - *rate < 0.8 * (1 - expected));
    CHECK(*rate < 1);
  }
}

TEST_CASE("A complete graph agrees in one round") {
  for (const auto& rate : measured(graph_of(topology::Kind::complete, 8))) {
    REQUIRE(rate);
    CHECK(*rate < 0.01);
  }
}

TEST_CASE("Rounds that are not in step and a node alone have no mixing rate") {
  MixingMeter alone(NodeId{1}), apart(NodeId{2});
  for (std::uint64_t round = 1; round <= 600; ++round) {
    alone.begin(round);
    alone.end();
    apart.begin(round);
    apart.mix(0.5, {round, 1}, {round + 1000, 0});
    apart.end();
  }
  CHECK_FALSE(alone.rate());
  CHECK_FALSE(apart.rate());
}
