// Means over all nodes and the distance of their models: direct tests of FleetMeans.
#include "gossip/edges/fleet_means.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.h"

using namespace starling;
using namespace starling::gossip;

namespace {

constexpr std::size_t kDimension = 2000;

std::size_t place(Quantity quantity) {
  return static_cast<std::size_t>(quantity);
}

// A count sketch, as the trainer makes one.
std::vector<float> sketch(const std::vector<double>& x) {
  std::vector<double> buckets(64);
  Prng signs(11);
  for (std::size_t k = 0; k < x.size(); ++k) buckets[k % 64] += signs.chance(0.5) ? x[k] : -x[k];
  return {buckets.begin(), buckets.end()};
}

// A ring of nodes with models of their own, whose mean and distances are known.
struct Ring {
  explicit Ring(std::size_t size, double apart) : nodes(size), mean(kDimension) {
    for (std::size_t i = 0; i < size; ++i) {
      models.emplace_back(kDimension);
      for (std::size_t k = 0; k < kDimension; ++k) {
        models[i][k] = std::sin(static_cast<double>(k)) + apart * prng.normal();
        mean[k] += models[i][k] / static_cast<double>(size);
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      nodes[i].set_model(sketch(models[i]), std::sqrt(squares(models[i])));
      Sample sample;
      sample.values[place(Quantity::loss)] = static_cast<double>(i);
      if (i % 2 == 0) sample.values[place(Quantity::accuracy)] = 0.5;
      sample.is_degraded = i == 0;
      nodes[i].set(sample);
    }
  }
  static NodeId id(std::size_t i) { return NodeId{i + 1}; }
  static double squares(const std::vector<double>& x) {
    double sum = 0;
    for (const double value : x) sum += value * value;
    return sum;
  }
  double distance(std::size_t i) const {
    double sum = 0;
    for (std::size_t k = 0; k < kDimension; ++k) sum += std::pow(models[i][k] - mean[k], 2);
    return std::sqrt(sum / squares(mean));
  }
  double distance() const {
    double sum = 0;
    for (std::size_t i = 0; i < models.size(); ++i) sum += std::pow(distance(i), 2);
    return std::sqrt(sum / static_cast<double>(models.size()));
  }
  void run(int rounds, double loss = 0) {
    for (int round = 0; round < rounds; ++round) {
      for (FleetMeans& node : nodes) node.update();
      for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const std::size_t j : {(i + 1) % nodes.size(), (i + nodes.size() - 1) % nodes.size()})
          if (!prng.chance(loss))
            nodes[j].receive(id(i), 0, nodes[i].flow(id(j)), nodes[i].estimate());
    }
  }

  Prng prng{5};
  std::vector<FleetMeans> nodes;
  std::vector<std::vector<double>> models;
  std::vector<double> mean;
};

// Nodes that all hear each other and train in step: in every round all models move by one part in
// 300 together, and each stays `apart` to one side of the mean or the other. Nodes get to a round
// in an order of chance, so that some hear of it before they are there. A part `loss` of the
// messages is lost, and as many come a round late.
struct Movers {
  struct Said {
    std::size_t from, to;
    std::uint64_t round;
    std::vector<float> flow, estimate;
  };
  Movers(std::size_t size, double to_a_side) : nodes(size), apart(to_a_side) {}

  void run(std::uint64_t rounds, double loss) {
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint64_t end = round + rounds; round < end;) {
      ++round;
      prng.shuffle(std::span(order));
      const std::vector<Said> late = std::exchange(held, {});
      for (const std::size_t i : order) enter(i, loss);
      for (const Said& said : late) hear(said);
    }
  }
  void enter(std::size_t i, double loss) {
    std::vector<double> x(kDimension);
    for (std::size_t k = 0; k < kDimension; ++k)
      x[k] = std::sin(static_cast<double>(k)) * std::exp(static_cast<double>(round) / 300) *
             (1 + (k % 3 == 0 ? (i % 2 == 0 ? apart : -apart) : 0));
    nodes[i].set_model(sketch(x), std::sqrt(Ring::squares(x)));
    nodes[i].begin_round(round);
    nodes[i].update();
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      if (j == i || prng.chance(loss)) continue;
      const Said said{i, j, round, nodes[i].flow(Ring::id(j)), nodes[i].estimate()};
      if (prng.chance(loss))
        held.push_back(said);
      else
        hear(said);
    }
  }
  void hear(const Said& said) {
    nodes[said.to].receive(Ring::id(said.from), said.round, said.flow, said.estimate);
  }

  Prng prng{7};
  std::vector<FleetMeans> nodes;
  std::vector<Said> held;  // until the next round has begun
  double apart;
  std::uint64_t round = 0;
};

}  // namespace

TEST_CASE("Models that are equal in each round have no distance while they move") {
  for (const std::size_t size : {2, 4, 12})
    for (const double loss : {0.0, 0.2}) {
      CAPTURE(size);
      CAPTURE(loss);
      Movers movers(size, 0);
      movers.run(100, loss);
      for (int k = 0; k < 20; ++k) {
        movers.run(1, loss);
        for (const FleetMeans& node : movers.nodes) {
          CHECK(*node.own_distance() < 1e-5);
          CHECK(*node.status().distance < 1e-5);
        }
      }
    }
}

TEST_CASE("A distance that lasts is known while the models move") {
  for (const std::size_t size : {2, 4, 12})
    for (const double loss : {0.0, 0.2}) {
      CAPTURE(size);
      CAPTURE(loss);
      Movers movers(size, 0.01);
      movers.run(200, loss);
      // A third of the numbers are 1 % off.
      const double distance = 0.01 / std::sqrt(3);
      for (const FleetMeans& node : movers.nodes) {
        CHECK(*node.own_distance() == doctest::Approx(distance).epsilon(0.25));
        CHECK(*node.status().distance == doctest::Approx(distance).epsilon(0.25));
      }
    }
}

TEST_CASE("Every node knows the mean of each quantity over those that have it") {
  for (const double loss : {0.0, 0.3}) {
    CAPTURE(loss);
    Ring ring(16, 0.1);
    ring.run(loss > 0 ? 800 : 300, loss);
    for (const FleetMeans& node : ring.nodes) {
      const FleetStatus fleet = node.status();
      REQUIRE(fleet.spreads[place(Quantity::loss)]);
      CHECK(fleet.spreads[place(Quantity::loss)]->mean == doctest::Approx(7.5).epsilon(0.01));
      CHECK(fleet.spreads[place(Quantity::loss)]->error < 0.1);
      REQUIRE(fleet.spreads[place(Quantity::accuracy)]);
      CHECK(fleet.spreads[place(Quantity::accuracy)]->mean == doctest::Approx(0.5).epsilon(0.01));
      CHECK_FALSE(fleet.spreads[place(Quantity::round)]);
      CHECK(fleet.degraded_share == doctest::Approx(1.0 / 16).epsilon(0.05));
    }
  }
}

TEST_CASE("A node believes what others may have and it has not") {
  const auto sample_of = [](double scale) {
    Sample sample;
    sample.values[place(Quantity::loss)] = scale;
    for (const Quantity rate : {Quantity::sample_rate, Quantity::byte_rate, Quantity::round})
      sample.values[place(rate)] = 1e6 * scale;
    return sample;
  };
  FleetMeans fast;
  fast.set_model(sketch(std::vector<double>(kDimension, 100.0)), 1e4);
  fast.set(sample_of(1e3));
  FleetMeans newcomer, slow;
  newcomer.set(Sample());
  slow.set_model(sketch(std::vector<double>(kDimension, 1.0)), 100);
  slow.set(sample_of(1));
  for (FleetMeans* node : {&newcomer, &slow}) {
    CHECK(node->receive(Ring::id(1), 0, fast.flow(Ring::id(2)), fast.estimate()));
    std::vector<float> lie = fast.estimate();
    lie.back() = 1e30F;
    CHECK_FALSE(node->receive(Ring::id(1), 0, fast.flow(Ring::id(2)), lie));
  }
}

TEST_CASE("Every node knows how far the models are from their mean") {
  for (const double apart : {0.01, 0.1, 1.0}) {
    CAPTURE(apart);
    Ring ring(16, apart);
    ring.run(400);
    for (std::size_t i = 0; i < ring.nodes.size(); ++i) {
      REQUIRE(ring.nodes[i].status().distance);
      CHECK(*ring.nodes[i].status().distance == doctest::Approx(ring.distance()).epsilon(0.15));
      CHECK(*ring.nodes[i].own_distance() == doctest::Approx(ring.distance(i)).epsilon(0.4));
    }
  }
}

TEST_CASE("The error of a mean shows how far the neighbours' estimates are") {
  Ring ring(16, 0.1);
  ring.run(2);
  const auto early = ring.nodes[3].status().spreads[place(Quantity::loss)];
  ring.run(300);
  const auto late = ring.nodes[3].status().spreads[place(Quantity::loss)];
  REQUIRE(early);
  REQUIRE(late);
  CHECK(early->error > 0.5);
  CHECK(late->error < early->error / 10);
}

TEST_CASE("A node alone knows itself") {
  Ring ring(1, 0.1);
  ring.nodes[0].update();
  const FleetStatus fleet = ring.nodes[0].status();
  CHECK(fleet.spreads[place(Quantity::loss)]->mean == 0);
  REQUIRE(fleet.distance);
  CHECK(*fleet.distance < 1e-6);
  CHECK_FALSE(FleetMeans().status().spreads[0].has_value());
  CHECK_FALSE(FleetMeans().own_distance().has_value());
}

TEST_CASE("Of models that are not finite no distance is told") {
  FleetMeans means;
  means.set_model(std::vector<float>(64, 1.0F), 8);
  means.update();
  REQUIRE(means.own_distance().has_value());
  means.set_model(std::vector<float>(64, std::nanf("")), std::nan(""));
  means.update();
  CHECK_FALSE(means.own_distance().has_value());
  CHECK_FALSE(means.status().distance.has_value());
}

TEST_CASE("No rate is told to be below 0 when a fast node goes and comes back") {
  Ring ring(4, 0);
  const auto set = [&ring](std::size_t i, double rate) {
    Sample sample;
    sample.values[place(Quantity::sample_rate)] = rate;
    ring.nodes[i].set(sample);
  };
  for (std::size_t i = 0; i < 4; ++i) set(i, i == 0 ? 9000 : 10);
  ring.run(100);
  const auto rate = [&ring](std::size_t i) {
    return ring.nodes[i].status().spreads[place(Quantity::sample_rate)];
  };
  CHECK(rate(1)->mean == doctest::Approx(2257.5));
  ring.nodes[0] = {};
  for (const std::size_t i : {1U, 3U})
    ring.nodes[i].keep([](NodeId id) { return id != Ring::id(0); });
  int unsettled = 0;
  for (int round = 0; round < 100; ++round) {
    if (round == 50) set(0, 9000);
    ring.run(1);
    for (std::size_t i = 0; i < 4; ++i) {
      unsettled += i > 0 && !rate(i);
      CHECK(rate(i).value_or(Spread{}).mean >= 0);
    }
  }
  CHECK(unsettled > 0);
  CHECK(rate(1)->mean == doctest::Approx(2257.5));
}
