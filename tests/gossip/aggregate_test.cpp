#include "gossip/edges/aggregate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/prng.h"

using namespace starling;
using gossip::Aggregate;

namespace {

// A ring where node i holds (i, 1); in a round all tell both neighbours, and some of it is lost.
struct Ring {
  explicit Ring(std::size_t size) : nodes(size), alive(size, true) {
    for (std::size_t i = 0; i < size; ++i) nodes[i].set_value({static_cast<float>(i), 1.0F});
  }
  static NodeId id(std::size_t i) { return NodeId{i + 1}; }

  void round(double loss = 0) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (alive[i]) nodes[i].update();
    struct Said {
      std::size_t from, to;
      Aggregate::Vector flow, estimate;
    };
    std::vector<Said> all;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::size_t j : {(i + 1) % nodes.size(), (i + nodes.size() - 1) % nodes.size()})
        if (alive[i] && alive[j] && !prng.chance(loss))
          all.push_back({i, j, nodes[i].flow(id(j)), nodes[i].estimate()});
    for (const Said& said : all) nodes[said.to].receive(id(said.from), said.flow, said.estimate);
  }
  // Node `liar` tells its neighbours these numbers in both places.
  void lie(std::size_t liar, float flow, float estimate) {
    for (const std::size_t step : {std::size_t{1}, nodes.size() - 1})
      nodes[(liar + step) % nodes.size()].receive(id(liar), {flow, flow}, {estimate, estimate});
  }
  void bury(std::size_t dead) {
    alive[dead] = false;
    for (Aggregate& node : nodes) node.keep([&](NodeId other) { return other != id(dead); });
  }
  // The largest distance of a live node's estimate from `mean`.
  double error(double mean) const {
    double worst = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (alive[i]) worst = std::max(worst, std::abs(nodes[i].estimate()[0] - mean));
    return worst;
  }

  std::vector<Aggregate> nodes;
  std::vector<bool> alive;
  Prng prng{1};
};

}  // namespace

TEST_CASE("Every estimate becomes the mean of the ring") {
  Ring ring(8);
  for (int k = 0; k < 200; ++k) ring.round();
  CHECK(ring.error(3.5) < 1e-3);
  CHECK(ring.nodes[0].estimate()[1] == doctest::Approx(1).epsilon(1e-4));
}

TEST_CASE("Lost messages leave no lasting error") {
  Ring ring(8);
  for (int k = 0; k < 400; ++k) ring.round(0.3);
  for (int k = 0; k < 200; ++k) ring.round();
  CHECK(ring.error(3.5) < 1e-3);
}

TEST_CASE("The estimate follows values that change") {
  Ring ring(8);
  for (int k = 0; k < 100; ++k) ring.round();
  ring.nodes[3].set_value({11.0F, 1.0F});
  for (int k = 0; k < 200; ++k) ring.round();
  CHECK(ring.error(4.5) < 1e-3);
}

TEST_CASE("A vanished neighbour no longer counts in the estimate") {
  Ring ring(8);
  for (int k = 0; k < 100; ++k) ring.round();
  ring.bury(7);
  for (int k = 0; k < 400; ++k) ring.round();
  CHECK(ring.error(3.0) < 1e-3);
}

TEST_CASE("A liar moves the estimate within limits and leaves no trace") {
  for (const float lie : {1e30F, -1e30F, 3e38F, 1e5F, 5e3F}) {
    CAPTURE(lie);
    for (const bool in_flow : {false, true}) {
      Ring ring(8);
      for (int k = 0; k < 50; ++k) ring.round();
      for (int k = 0; k < 100; ++k) {
        ring.round();
        ring.lie(3, in_flow ? lie : 0, in_flow ? 0 : lie);
        const float most = Aggregate::kFar * 8;
        for (const Aggregate& node : ring.nodes) CHECK(std::abs(node.estimate()[0]) <= most);
      }
      ring.bury(3);
      for (int k = 0; k < 400; ++k) ring.round();
      CHECK(ring.error((28 - 3) / 7.0) < 2e-2);
    }
  }
}

TEST_CASE("An estimate far beyond all others is not believed") {
  Aggregate node;
  node.set_value({3.0F});
  CHECK(node.accepts({0}, {2e4F}));
  CHECK_FALSE(node.accepts({0}, {4e4F}));
  CHECK(node.accepts({1e6F}, {3}));
  CHECK_FALSE(node.accepts({1e9F}, {3}));
  // Two neighbours far from this node's value agree.
  node.receive(NodeId{1}, {0}, {1e6F});
  node.receive(NodeId{2}, {0}, {1e6F});
  node.update();
  CHECK(node.accepts({0}, {1e6F}));
}

TEST_CASE("A vector of another size is ignored") {
  Aggregate aggregate;
  aggregate.receive(NodeId{1}, {1.0F}, {1.0F});
  CHECK_FALSE(aggregate.has_value());
  aggregate.set_value({2.0F, 3.0F});
  aggregate.receive(NodeId{1}, {1.0F}, {1.0F});
  aggregate.update();
  CHECK(aggregate.estimate() == Aggregate::Vector{2.0F, 3.0F});
  CHECK(aggregate.flow(NodeId{1}) == Aggregate::Vector{0.0F, 0.0F});
}
