#include "optim/local/private_gradient.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "optim/local/local_learner.h"
#include "optim/privacy/noise.h"
#include "optim/saved_state.h"
#include "optim/trainer.h"

using namespace starling;
using namespace starling::optim;

namespace {

constexpr std::size_t kSamples = 200, kDimension = 50;

// Sample i pulls parameter i with 4, so that clipped to C it pulls with C, and tells that it was
// drawn.
class Pulls final : public Objective<double> {
 public:
  void assign(const Shard&) override {}
  DataSummary describe() const override { return {kSamples, "all", "pulls"}; }
  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return kSamples; }
  void initialize(std::span<double> x, std::uint64_t) const override { std::ranges::fill(x, 0.0); }
  double loss_and_gradient(std::span<const double>, std::span<const std::uint32_t>,
                           std::span<double> gradient) override {
    std::ranges::fill(gradient, 0.0);
    ++unclipped;
    return 1;
  }
  bool minimize(std::span<const double>, double, std::span<double>) override {
    ++unclipped;
    return false;
  }
  double clipped_gradient(std::span<const double>, std::span<const std::uint32_t> batch,
                          const Clip& clip, std::span<double> gradient) override {
    std::ranges::fill(gradient, 0.0);
    drawn.emplace_back(batch.begin(), batch.end());
    for (const std::uint32_t i : batch)
      gradient[i % kDimension] += std::min(clip.bound, 4.0) / clip.divisor;
    return clip.bound / clip.divisor;
  }
  Evaluation evaluate(std::span<const double>, std::size_t) override { return {0, 1, {}, {}}; }

  std::vector<std::vector<std::uint32_t>> drawn;
  int unclipped = 0;  // calls that tell more than a clipped gradient

 private:
  std::vector<ParameterBlock> blocks_ = one_block(kDimension);
};

Options options_with(double clip, double noise, std::size_t batch) {
  Options options;
  options.clip = clip;
  options.noise = noise;
  options.batch_size = batch;
  options.learning_rate = 1;
  options.codec = wire_form_named("f64");
  return options;
}

KeyStream stream_of(unsigned char first) {
  Secret key(KeyStream::kKeySize);
  key.bytes()[0] = std::byte{first};
  return KeyStream(key);
}

std::unique_ptr<Trainer> trainer_of(const Options& options) {
  auto made = make_trainer<double>(options, std::make_unique<Pulls>(), 1, [] { return Time{}; });
  Job assign;
  assign.shard = std::make_shared<Shard>(std::vector<NodeId>{NodeId{1}}, 0);
  made->run(assign);
  return made;
}

std::optional<PrivacySpent> after(Trainer& trainer, std::size_t rounds) {
  std::optional<PrivacySpent> spent;
  Job job;
  for (job.local = true; job.round < rounds; ++job.round) spent = trainer.run(job).stats.privacy;
  return spent;
}

}  // namespace

TEST_CASE("Each sample is drawn on its own with the same probability") {
  KeyStream chance = stream_of(7);
  std::vector<std::uint32_t> drawn;
  std::vector<int> times(40);
  double sum = 0, squares = 0;
  constexpr int kDraws = 20'000;
  for (int draw = 0; draw < kDraws; ++draw) {
    draw_samples(times.size(), 0.1, chance, drawn);
    REQUIRE(std::ranges::is_sorted(drawn, std::ranges::less_equal()));
    for (const std::uint32_t index : drawn) ++times.at(index);
    sum += static_cast<double>(drawn.size());
    squares += static_cast<double>(drawn.size() * drawn.size());
  }
  for (const int count : times) CHECK(count == doctest::Approx(0.1 * kDraws).epsilon(0.12));
  const double mean = sum / kDraws;
  CHECK(mean == doctest::Approx(4).epsilon(0.02));
  // Of a binomial: 40 x .1 x .9.
  CHECK(squares / kDraws - mean * mean == doctest::Approx(3.6).epsilon(0.05));
}

TEST_CASE("With probability one all samples are drawn") {
  KeyStream chance = stream_of(1);
  std::vector<std::uint32_t> drawn;
  draw_samples(5, 1, chance, drawn);
  CHECK(drawn == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("Noise is normal with the deviation that was asked for") {
  KeyStream chance = stream_of(9);
  std::vector<double> values(200'000);
  add_noise<double>(3, chance, values);
  double sum = 0, squares = 0, fourths = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    fourths += std::pow(value, 4);
  }
  const double count = static_cast<double>(values.size());
  CHECK(std::abs(sum / count) < 0.03);
  CHECK(squares / count == doctest::Approx(9).epsilon(0.02));
  CHECK(fourths / count == doctest::Approx(3 * 81).epsilon(0.05));
}

TEST_CASE("A private gradient is the clipped sum over the expected batch and noise on it") {
  Pulls objective;
  std::vector<double> x(kDimension), g(kDimension), mean(kDimension);
  PrivateGradient<double> exact(options_with(2, 0, 20), 1);
  CHECK(exact.write(objective, x, g) == 20);
  double drawn = 0;
  for (const double value : g) drawn += value;
  CHECK(drawn == doctest::Approx(2.0 / 20 * static_cast<double>(objective.drawn[0].size())));
  CHECK_FALSE(exact.spent(1));
  // The deviation of a number: sigma C / b, of all samples the same part.
  PrivateGradient<double> noisy(options_with(2, 1.5, 0), 1);
  double squares = 0;
  constexpr int kSteps = 400;
  for (int step = 0; step < kSteps; ++step) {
    noisy.write(objective, x, g);
    for (const double value : g) squares += std::pow(value - 2.0 / kDimension, 2);
  }
  CHECK(std::sqrt(squares / (kSteps * kDimension)) ==
        doctest::Approx(1.5 * 2 / kSamples).epsilon(0.03));
}

TEST_CASE("A step without a drawn sample is noise") {
  Pulls objective;
  std::vector<double> x(kDimension), g(kDimension);
  PrivateGradient<double> gradient(options_with(1, 1, 1), 3);
  bool was_empty = false;
  for (int step = 0; step < 30; ++step) {
    gradient.write(objective, x, g);
    if (!objective.drawn.back().empty()) continue;
    was_empty = true;
    CHECK(std::ranges::all_of(g, [](double value) { return value != 0; }));
  }
  CHECK(was_empty);
}

TEST_CASE("The epsilon of a node is that of its steps") {
  const auto node = trainer_of(options_with(1, 1.1, 20));
  const auto spent = after(*node, 30);
  REQUIRE(spent);
  CHECK(spent->steps == 30);
  CHECK(spent->delta == 1e-5);
  REQUIRE(spent->epsilon);
  CHECK(*spent->epsilon ==
        doctest::Approx(epsilon(renyi_curve({.rate = 0.1, .noise = 1.1}), 30, 1e-5)));
  CHECK(*spent->coming ==
        doctest::Approx(epsilon(renyi_curve({.rate = 0.1, .noise = 1.1}), 31, 1e-5)));
  CHECK_FALSE(after(*trainer_of(options_with(1, 0, 20)), 3));
  CHECK_FALSE(after(*trainer_of(options_with(0, 0, 20)), 3));
}

TEST_CASE("No algorithm that takes gradients asks for more than clipped ones") {
  for (const AlgorithmRow& row : algorithms()) {
    if (row.loop == LoopDuty::serve_gradients) continue;
    CAPTURE(std::string(row.name));
    Options options = options_with(1, 1, 20);
    options.algorithm = &row;
    options.weight_decay = 0.1;
    auto objective = std::make_unique<Pulls>();
    const Pulls& pulls = *objective;
    const auto node = make_trainer<double>(options, std::move(objective), 1, [] { return Time{}; });
    Job job;
    job.shard = std::make_shared<Shard>(std::vector<NodeId>{NodeId{1}}, 0);
    node->run(job);
    job.shard = nullptr;
    job.local = job.offer = job.snapshot = job.save = true;
    job.local_steps = 3;
    for (job.round = 1; job.round < 4; ++job.round) {
      node->run(job);
      job.absorb = true;
    }
    CHECK(pulls.unclipped == 0);
    CHECK(pulls.drawn.size() == 9);
    CHECK(node->workload().privacy->steps == 9);
  }
}

TEST_CASE("Losses of clipped samples are not told") {
  Job job;
  job.local = true;
  const Done done = trainer_of(options_with(1, 1, 20))->run(job);
  CHECK(std::isnan(done.stats.loss));
  CHECK(done.stats.samples == 20);
  CHECK_FALSE(done.problem);
}

TEST_CASE("Epsilon goes on where an earlier life ended and counts its steps by the worst of both") {
  Job save;
  save.save = save.whole = true;
  const auto first = trainer_of(options_with(1, 1.1, 20));
  after(*first, 30);
  Job resume;
  resume.resume = first->run(save).saved;
  const auto second = trainer_of(options_with(1, 2.5, 10));
  const Done resumed = second->run(resume);
  REQUIRE(resumed.workload);
  REQUIRE(resumed.workload->privacy);
  CHECK(resumed.workload->privacy->steps == 30);
  const auto spent = after(*second, 5);
  CHECK(spent->steps == 35);
  CHECK(*spent->epsilon ==
        doctest::Approx(epsilon(renyi_curve({.rate = 0.1, .noise = 1.1}), 35, 1e-5)));
}

TEST_CASE("A life that followed one without noise has no bound") {
  Job save;
  save.save = save.whole = true;
  for (const double clip : {0.0, 1.0}) {
    const auto first = trainer_of(options_with(clip, 0, 20));
    after(*first, 2);
    Job resume;
    resume.resume = first->run(save).saved;
    const auto second = trainer_of(options_with(1, 2, 20));
    second->run(resume);
    const auto spent = after(*second, 2);
    REQUIRE(spent);
    CHECK_FALSE(spent->epsilon);
  }
}

TEST_CASE("The model of another node leaves what was told of the own samples as it is") {
  Job snapshot;
  snapshot.snapshot = true;
  const auto donor = trainer_of(options_with(1, 1, 20));
  after(*donor, 50);
  Job adopt;
  adopt.adopt = donor->run(snapshot).snapshot;
  const auto node = trainer_of(options_with(1, 1, 20));
  after(*node, 3);
  node->run(adopt);
  CHECK(after(*node, 1)->steps == 4);
}

TEST_CASE("A restored node does not draw the noise of its earlier life again") {
  Job save, step;
  save.save = save.whole = step.local = true;
  Options options = options_with(1, 1, 0);
  const auto key_of = [](unsigned char first) {
    auto key = std::make_shared<Secret>(KeyStream::kKeySize);
    key->bytes()[0] = std::byte{first};
    return key;
  };
  options.noise_key = key_of(1);
  const auto first = trainer_of(options);
  first->run(step);
  Job resume;
  resume.resume = first->run(save).saved;
  first->run(step);
  options.noise_key = key_of(2);
  const auto second = trainer_of(options);
  second->run(resume);
  second->run(step);
  CHECK(first->parameters() != second->parameters());
}

TEST_CASE("Steps that a killed node may have taken after its last checkpoint are counted") {
  Job save;
  save.save = true;
  const auto first = trainer_of(options_with(1, 1.1, 20));
  after(*first, 7);
  first->run(save);
  after(*first, 4);
  Job resume;
  resume.resume = first->run(save).saved;
  const auto second = trainer_of(options_with(1, 1.1, 20));
  CHECK(second->run(resume).workload->privacy->steps == 11 + 2 * 7);
  CHECK(after(*second, 2)->steps == 11 + 2 * 7 + 2);
  // What was counted once is part of the next checkpoint.
  save.whole = true;
  resume.resume = second->run(save).saved;
  const auto third = trainer_of(options_with(1, 1.1, 20));
  CHECK(third->run(resume).workload->privacy->steps == 11 + 2 * 7 + 2);
}
