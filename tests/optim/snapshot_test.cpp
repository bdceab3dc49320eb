#include "optim/snapshot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include "optim/trainer.h"

using namespace starling;
using namespace starling::optim;

namespace {

constexpr LocalOptimizerKind kKinds[] = {LocalOptimizerKind::sgd, LocalOptimizerKind::momentum,
                                         LocalOptimizerKind::nesterov, LocalOptimizerKind::adam};

// F(x) = sum_i (i + 1) (x_i - target)^2 / 2.
template <class S>
class Valley final : public Objective<S> {
 public:
  Valley(std::size_t dimension, double target)
      : blocks_(one_block(dimension)), target_(static_cast<S>(target)) {}
  void assign(const Shard&) override {}
  DataSummary describe() const override {
    return {1, "one", fmt::format("valley {}", this->dimension())};
  }
  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 1; }
  void initialize(std::span<S> x, std::uint64_t) const override { std::ranges::fill(x, S{0}); }
  S loss_and_gradient(std::span<const S> x, std::span<S> gradient) const {
    S loss = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      gradient[i] = static_cast<S>(i + 1) * (x[i] - target_);
      loss += gradient[i] * (x[i] - target_) / 2;
    }
    return loss;
  }
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t>,
                           std::span<S> gradient) override {
    return loss_and_gradient(x, gradient);
  }
  Evaluation evaluate(std::span<const S>, std::size_t) override { return {}; }

 private:
  std::vector<ParameterBlock> blocks_;
  S target_;
};

template <class S>
std::unique_ptr<Trainer> trainer(LocalOptimizerKind kind, std::size_t dimension = 7,
                                 const AlgorithmRow* algorithm = algorithm_named("dpsgd"),
                                 OuterKind outer = OuterKind::none) {
  Options options;
  options.outer = outer;
  options.algorithm = algorithm;
  options.local_optimizer = kind;
  options.learning_rate = 0.01;
  options.batch_size = 0;
  options.codec = format_named(sizeof(S) == 4 ? "f32" : "f64");
  auto made = make_trainer<S>(options, std::make_unique<Valley<S>>(dimension, 1.7), 1,
                              [] { return Time{}; });
  Job job;
  job.shard = std::make_shared<Shard>();
  made->run(job);
  return made;
}

// A round without neighbours.
Done step(Trainer& trainer, std::uint64_t round) {
  Job job;
  job.round = round;
  job.absorb = round > 1;
  job.offer = job.local = true;
  return trainer.run(job);
}

Payload snapshot(Trainer& trainer) {
  Job job;
  job.snapshot = true;
  return trainer.run(job).snapshot;
}

std::optional<std::string> adopt(Trainer& trainer, const Payload& payload) {
  Job job;
  job.adopt = payload;
  return trainer.run(job).problem;
}

std::vector<std::byte> bytes_of(const Payload& payload) {
  std::vector<std::byte> bytes(payload.size());
  payload.copy_to(0, bytes);
  return bytes;
}

template <class S>
void continues(LocalOptimizerKind kind, const AlgorithmRow* algorithm) {
  const auto donor = trainer<S>(kind, 7, algorithm);
  for (std::uint64_t round = 1; round <= 20; ++round) step(*donor, round);
  const auto newcomer = trainer<S>(kind, 7, algorithm);
  // As it arrives: in pieces that end anywhere.
  const Payload whole = snapshot(*donor);
  CHECK(whole.size() == newcomer->workload().snapshot_bytes);
  std::vector<Payload::Piece> pieces;
  for (std::size_t at = 0; at < whole.size(); at += 13) {
    const Payload part = whole.slice(at, std::min<std::size_t>(13, whole.size() - at));
    std::ranges::copy(part.pieces(), std::back_inserter(pieces));
  }
  REQUIRE_FALSE(adopt(*newcomer, Payload(pieces)).has_value());
  CHECK(newcomer->parameters() == donor->parameters());
  for (std::uint64_t round = 21; round <= 40; ++round) {
    Job job;
    job.round = round;
    job.local = true;
    donor->run(job);
    newcomer->run(job);
    REQUIRE(newcomer->parameters() == donor->parameters());
  }
  CHECK(bytes_of(snapshot(*newcomer)) == bytes_of(snapshot(*donor)));
}

}  // namespace

TEST_CASE("With full batches a restored snapshot continues bit for bit by every local optimizer") {
  for (const LocalOptimizerKind kind : kKinds)
    for (const AlgorithmRow* const algorithm :
         {algorithm_named("dpsgd"), algorithm_named("dpsgd-pipelined")}) {
      CAPTURE(name(kind));
      continues<float>(kind, algorithm);
      continues<double>(kind, algorithm);
    }
}

TEST_CASE("A snapshot shows the state before the step of its own job") {
  const auto donor = trainer<double>(LocalOptimizerKind::momentum);
  for (std::uint64_t round = 1; round <= 5; ++round) step(*donor, round);
  const auto before = donor->parameters();
  Job job;
  job.round = 6;
  job.snapshot = job.local = job.offer = true;
  const Payload payload = donor->run(job).snapshot;
  const auto newcomer = trainer<double>(LocalOptimizerKind::momentum);
  REQUIRE_FALSE(adopt(*newcomer, payload).has_value());
  CHECK(newcomer->parameters() == before);
  step(*newcomer, 1);
  CHECK(newcomer->parameters() == donor->parameters());
}

TEST_CASE("A snapshot that is broken is refused and changes nothing") {
  const auto donor = trainer<double>(LocalOptimizerKind::adam);
  for (std::uint64_t round = 1; round <= 5; ++round) step(*donor, round);
  const Payload sound = snapshot(*donor);
  const auto newcomer = trainer<double>(LocalOptimizerKind::adam);
  step(*newcomer, 1);
  const auto before = bytes_of(snapshot(*newcomer));
  std::vector<std::vector<std::byte>> broken;
  for (std::size_t size = 0; size < sound.size(); ++size)
    broken.push_back(bytes_of(sound.slice(0, size)));
  broken.push_back(bytes_of(sound));
  broken.back().push_back(std::byte{0});
  // Everything of the head but `kind`, which may be another.
  for (std::size_t at = 0; at < 40; ++at) {
    if (at >= 16 && at < 24) continue;
    broken.push_back(bytes_of(sound));
    broken.back()[at] ^= std::byte{0x81};
  }
  for (std::size_t at = 40; at < sound.size(); at += 8) {
    broken.push_back(bytes_of(sound));
    const double poison = std::numeric_limits<double>::quiet_NaN();
    std::memcpy(broken.back().data() + at, &poison, sizeof poison);
  }
  for (const auto& bytes : broken) {
    REQUIRE(adopt(*newcomer, Payload::copy_of(bytes)).has_value());
    REQUIRE(bytes_of(snapshot(*newcomer)) == before);
  }
  CHECK_FALSE(adopt(*newcomer, sound).has_value());
}

TEST_CASE("A snapshot of another model or precision is refused by name") {
  const auto node = trainer<double>(LocalOptimizerKind::sgd);
  const auto larger = trainer<double>(LocalOptimizerKind::sgd, 8);
  const auto coarser = trainer<float>(LocalOptimizerKind::sgd);
  CHECK(adopt(*node, snapshot(*larger))->find("another model") != std::string::npos);
  CHECK(adopt(*node, snapshot(*coarser))->find("another model") != std::string::npos);
}

TEST_CASE("With another local optimizer the parameters alone are taken") {
  const auto donor = trainer<double>(LocalOptimizerKind::adam);
  for (std::uint64_t round = 1; round <= 5; ++round) step(*donor, round);
  const auto newcomer = trainer<double>(LocalOptimizerKind::nesterov);
  step(*newcomer, 1);
  CHECK_FALSE(adopt(*newcomer, snapshot(*donor)).has_value());
  CHECK(newcomer->parameters() == donor->parameters());
}

TEST_CASE("With another outer step the parameters alone are taken and a note says so") {
  constexpr std::array kOuter{OuterKind::none, OuterKind::nesterov, OuterKind::slowmo};
  for (const OuterKind theirs : kOuter)
    for (const OuterKind own : kOuter) {
      CAPTURE(name(theirs));
      CAPTURE(name(own));
      const AlgorithmRow* const dpsgd = algorithm_named("dpsgd");
      const auto donor = trainer<double>(LocalOptimizerKind::sgd, 7, dpsgd, theirs);
      for (std::uint64_t round = 1; round <= 5; ++round) step(*donor, round);
      Job save;
      save.snapshot = save.save = true;
      const Done given = donor->run(save);
      for (const bool comes_back : {false, true}) {
        const auto heir = trainer<double>(LocalOptimizerKind::sgd, 7, dpsgd, own);
        Job job;
        if (comes_back)
          job.resume = given.saved;
        else
          job.adopt = given.snapshot;
        const Done done = heir->run(job);
        CHECK_FALSE(done.problem.has_value());
        CHECK(heir->parameters() == donor->parameters());
        CHECK(done.workload->notes.size() == (own == theirs ? 0U : 1U));
        for (const std::string& note : done.workload->notes)
          CHECK(note.find("a state of its own, of dpsgd") != std::string::npos);
      }
    }
}
