// Snapshots for newcomers, as trainers make and take them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "optim/algorithms/registry.h"
#include "optim/saved_state.h"
#include "optim/trainer.h"

using namespace starling;
using namespace starling::optim;

namespace {

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
  options.codec = wire_form_named(sizeof(S) == 4 ? "f32" : "f64");
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
  CHECK(whole.size() <= newcomer->workload().snapshot_bytes);
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
  for (const LocalOptimizerKind kind : local_optimizers())
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
  std::uint32_t head = 0;
  sound.copy_to(8, std::as_writable_bytes(std::span(&head, 1)));
  const std::size_t front = 12, numbers = front + head,
                    kind = std::string_view("dpsgd adam").size();
  // All of the head but the kind, which may be another.
  for (std::size_t at = 0; at < numbers; ++at) {
    if (at >= front && at < front + kind) continue;
    broken.push_back(bytes_of(sound));
    broken.back()[at] ^= std::byte{0x81};
  }
  REQUIRE((sound.size() - numbers) / 8 == 3 * 7 + 2);
  for (std::size_t at = numbers; at < sound.size(); at += 8) {
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
  CHECK(adopt(*node, snapshot(*larger)) ==
        "it is of another model: valley 8; this one is valley 7");
  CHECK(adopt(*node, snapshot(*coarser)) == "\"x\" is of type F32; expected F64");
}

namespace {

// Algorithm, local optimizer and outer step.
struct Way {
  const AlgorithmRow* algorithm;
  LocalOptimizerKind optimizer;
  OuterKind outer;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const AlgorithmRow& row : algorithms())
    for (const LocalOptimizerKind optimizer : local_optimizers())
      for (const OuterKind outer : {OuterKind::none, OuterKind::nesterov, OuterKind::slowmo})
        if (allows(row.optimizers, optimizer) &&
            (outer == OuterKind::none || row.outer_refusal.empty()))
          ways.push_back({&row, optimizer, outer});
  return ways;
}

std::unique_ptr<Trainer> trainer_of(const Way& way) {
  return trainer<double>(way.optimizer, 7, way.algorithm, way.outer);
}

// The fields of a part of the state.
std::map<std::string, std::vector<std::byte>> fields_of(Trainer& trainer, std::string_view part) {
  std::map<std::string, std::vector<std::byte>> fields;
  const SavedState saved = *decode_saved_state(snapshot(trainer));
  for (const SavedField& field : saved.state)
    if (field.name.starts_with(part)) fields[field.name] = bytes_of(field.bytes);
  return fields;
}

}  // namespace

TEST_CASE("A newcomer takes from a donor of any kind what fits its own and is told what does not") {
  const std::vector<Way> ways = all_ways();
  REQUIRE(ways.size() > 40);
  for (const Way& theirs : ways) {
    const auto donor = trainer_of(theirs);
    for (std::uint64_t round = 1; round <= 5; ++round) step(*donor, round);
    Job save;
    save.snapshot = save.save = true;
    const Done given = donor->run(save);
    for (const Way& own : ways)
      for (const bool comes_back : {false, true}) {
        CAPTURE(theirs.algorithm->name);
        CAPTURE(name(theirs.optimizer));
        CAPTURE(name(theirs.outer));
        CAPTURE(own.algorithm->name);
        CAPTURE(name(own.optimizer));
        CAPTURE(name(own.outer));
        const auto heir = trainer_of(own);
        REQUIRE(given.snapshot.size() <= heir->workload().snapshot_bytes);
        Job job;
        if (comes_back)
          job.resume = given.saved;
        else
          job.adopt = given.snapshot;
        const Done done = heir->run(job);
        REQUIRE_FALSE(done.problem.has_value());
        REQUIRE(heir->parameters() == donor->parameters());
        const bool same_algorithm = theirs.algorithm == own.algorithm && theirs.outer == own.outer;
        const bool same_optimizer = theirs.optimizer == own.optimizer;
        REQUIRE(fields_of(*heir, "algorithm.") ==
                fields_of(same_algorithm ? *donor : *trainer_of(own), "algorithm."));
        REQUIRE(fields_of(*heir, "learner.") ==
                fields_of(same_optimizer ? *donor : *trainer_of(own), "learner."));
        const std::vector<std::string>& notes = done.workload->notes;
        REQUIRE(notes.size() == (same_algorithm && same_optimizer ? 0U : 1U));
        if (notes.empty()) continue;
        const char* const what = same_optimizer   ? "the algorithm"
                                 : same_algorithm ? "the optimizer"
                                                  : "the node";
        REQUIRE(notes[0].find(fmt::format("; {} begins with a state of its own, of {}", what,
                                          own.algorithm->name)) != std::string::npos);
      }
  }
}

TEST_CASE("Bytes that are no state are refused without a large allocation") {
  const auto refusal = [](std::string head, std::size_t numbers) {
    const std::uint32_t front[3] = {0x54415453, kSavedStateVersion,
                                    static_cast<std::uint32_t>(head.size())};
    head.insert(0, reinterpret_cast<const char*>(front), sizeof front);
    head.append(numbers, '\0');
    const auto read = decode_saved_state(Payload::copy_of(std::as_bytes(std::span(head))));
    return read ? std::string() : read.error().text;
  };
  CHECK(refusal("kind\n1 0 0\nF64 2,3 w\nmodel", 48).empty());
  CHECK(refusal("kind\n1 0 0\nF64 2,3 w\nmodel", 49).find("after its fields") != std::string::npos);
  CHECK(refusal("kind\n1 0 0\nF64 2,3 w\nmodel", 47).find("do not fit") != std::string::npos);
  CHECK(refusal("kind\n1 0 0\nF64 4294967296,4294967296,4294967296 w\n", 48).find("do not fit") !=
        std::string::npos);
  CHECK(refusal("kind\n1 0 0\nF64 -1 w\n", 48).find("do not fit") != std::string::npos);
  CHECK(refusal("kind\n9223372036854775807 0 0\n", 48).find("expected at most") !=
        std::string::npos);
  CHECK(refusal("kind\n100000 0 0\n", 48).find("are left") != std::string::npos);
  CHECK(refusal("kind\n0 0\n", 0).find("cannot be read") != std::string::npos);
  CHECK(refusal("", 0).find("cannot be read") != std::string::npos);
}
