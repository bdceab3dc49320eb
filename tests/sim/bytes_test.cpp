// All bytes that nodes send beside those of their vectors: headers, estimates, gossip, probes.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 4;
constexpr std::size_t kParameters = 7850;  // of softmax regression on MNIST

// F(x) = ||x - node||^2 / 2.
class Round final : public optim::Objective<float> {
 public:
  explicit Round(std::size_t node) : node_(static_cast<float>(node)) {}
  void assign(const optim::Shard&) override {}
  optim::DataSummary describe() const override { return {1, "a point", "bowl"}; }
  std::span<const optim::ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 1; }
  void initialize(std::span<float> x, std::uint64_t) const override { std::ranges::fill(x, 0.0F); }
  double loss_and_gradient(std::span<const float> x, std::span<const std::uint32_t>,
                           std::span<float> gradient) override {
    for (std::size_t k = 0; k < x.size(); ++k) gradient[k] = x[k] - node_;
    return 1;
  }
  optim::Evaluation evaluate(std::span<const float>, std::size_t) override { return {}; }

 private:
  std::vector<optim::ParameterBlock> blocks_ = optim::one_block(kParameters);
  float node_;
};

// Beside 1 byte of vectors, once nodes have trained for a while at 10 Mbit/s.
double bytes_a_byte(const LegalWay& way) {
  optim::Options training = reference_training(0.01);
  training.algorithm = way.algorithm;
  training.outer = way.outer;
  training.codec = optim::wire_form_named("f32");
  sim::Options options = reference_world(
      kNodes, way.kind == topology::Kind::automatic ? topology::Kind::ring : way.kind, training);
  options.base.expect = kNodes;
  options.base.schedule = way.schedule;
  options.base.topology.sequence = way.sequence;
  options.base.quorum = way.quorum;
  options.base.missing = way.missing;
  options.network.bandwidth = 1.25e6;
  Cluster cluster(options, [&](std::size_t node) {
    return optim::make_trainer<float>(training, std::make_unique<Round>(node), node,
                                      [] { return Time{}; });
  });
  cluster.start_all();
  const auto vectors = [&] {
    std::uint64_t bytes = 0;
    for (const std::size_t node : cluster.world.running())
      bytes += cluster.world.status(node).sent_bytes;
    return bytes;
  };
  cluster.world.run_until(Time(5s));
  const std::uint64_t vectors_before = vectors();
  const std::uint64_t all_before = cluster.world.network().sent_bytes();
  cluster.world.run_until(Time(5s + full_or(20s, 5s)));
  REQUIRE(vectors() > vectors_before);
  return static_cast<double>(cluster.world.network().sent_bytes() - all_before) /
         static_cast<double>(vectors() - vectors_before);
}

}  // namespace

TEST_CASE("All bytes are those of the vectors of 31 KB and two hundredths more at most") {
  std::size_t place = 0;
  for (const LegalWay& way : legal_ways()) {
    if (place++ % 2 > 0 && !tries_full()) continue;  // in the short form every other way
    CAPTURE(way.name);
    // Where rounds do not wait for all vectors, a node tells its neighbours of each round without.
    const bool tells_rounds = way.schedule->is_loose || way.quorum < 1;
    // Where nodes rest, fewer vectors a second go beside the same messages of the members.
    const bool rests = way.sequence.moves() && way.sequence.row->rests;
    CHECK(bytes_a_byte(way) <= (tells_rounds ? 1.04 : rests ? 1.03 : 1.02));
  }
  CHECK(bytes_a_byte({.name = "dpsgd", .algorithm = optim::algorithm_named("dpsgd")}) <= 1.01);
}
