#include "optim/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "base/planted.h"
#include "optim/algorithms/algorithm.h"
#include "optim/local/local_step.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// Above this many parameters the sketch is drawn only when the model is evaluated anyway.
constexpr std::size_t kSketchAlwaysLimit = 200'000;

// How long a step that was refused counts as trouble: where a few are taken in between, the node is
// no better for it.
constexpr std::uint64_t kTroubledRounds = 10;

template <class S>
class TypedTrainer final : public Trainer {
 public:
  TypedTrainer(const Options& options, std::unique_ptr<Objective<S>> objective,
               std::uint64_t stream, std::function<Time()> clock)
      : options_(options),
        objective_(std::move(objective)),
        stream_(stream),
        clock_(std::move(clock)) {}

  Workload workload() const override {
    Workload workload;
    if (!algorithm_) workload.survey = objective_->survey();
    if (is_founded_) workload.foundation = objective_->foundation();
    workload.shard_samples = objective_->samples();
    workload.shard_description = objective_->shard_description();
    workload.notes = objective_->notes();
    if (!algorithm_) return workload;
    workload.payload_bytes =
        bytes_limit(*options_.codec, objective_->dimension() * options_.algorithm->vectors_offered);
    workload.snapshot_bytes = snapshot_bytes(objective_->dimension(), state());
    workload.schema_hash = schema_hash();
    workload.schema = objective_->schema();
    return workload;
  }

  Done run(const Job& job) override {
    Done done;
    done.round = job.round;
    if (job.foundation) lay_foundation(job, done);
    if (job.shard) assign(*job.shard);
    if (job.foundation || job.shard) done.workload = workload();
    if (!algorithm_ && job.adopt && !done.trouble)
      done.trouble = "the model came without the data statistics it is founded on";
    if (!algorithm_) return done;
    const Time started = clock_();
    if (job.adopt) adopt(*job.adopt, done);
    if (!is_initialized_ && !uses_model(job)) return done;
    initialize();
    if (job.absorb || job.offer) algorithm_->follow(job.edges);
    if (job.absorb) absorb(job, done);
    if (job.copy) done.copy = parameters();
    if (job.snapshot)
      done.snapshot = encode_snapshot(schema_hash(), state_kind(), algorithm_->model(), state());
    const Time mixed = clock_();
    describe_model(job, done);
    if (job.evaluate) evaluate(job, done);
    if (job.local) local(job, done);
    const Time computed = clock_();
    if (job.offer) offer(done);
    done.stats.compute = computed - mixed;
    done.stats.mix = (mixed - started) + (clock_() - computed);
    return done;
  }

  std::vector<double> parameters() const override {
    if (!algorithm_) return {};
    const std::vector<S> initial = is_initialized_ ? std::vector<S>() : initial_model();
    const auto x = is_initialized_ ? algorithm_->model() : std::span(initial);
    return {x.begin(), x.end()};
  }

  std::vector<double> optimum() const override {
    const auto x = objective_->optimum();
    return {x.begin(), x.end()};
  }

 private:
  void start() {
    begin_at(std::vector<S>(objective_->dimension()));
    step_.emplace(options_, *objective_, stream_);
  }

  void begin_at(const std::vector<S>& x) {
    algorithm_.reset();  // its buffers are used again
    offered_ = {};
    algorithm_ = make_algorithm<S>(options_, std::span<const S>(x), pool_);
  }

  std::vector<S> initial_model() const {
    std::vector<S> x(objective_->dimension());
    objective_->initialize(x, options_.seed);
    return x;
  }

  static bool uses_model(const Job& job) {
    return job.absorb || job.copy || job.snapshot || job.evaluate || job.local || job.offer;
  }

  // As late as can be: to draw a million numbers takes a newcomer longer than to fetch them.
  void initialize() {
    if (!std::exchange(is_initialized_, true)) begin_at(initial_model());
  }

  void lay_foundation(const Job& job, Done& done) {
    if (auto founded = objective_->found(*job.foundation); !founded)
      done.trouble = founded.error().text;
    else
      start(), is_founded_ = true;
  }

  void assign(const Shard& shard) {
    objective_->assign(shard);
    if (step_) step_->reshuffle();
    if (!algorithm_ && objective_->survey().empty()) start();
  }

  // All of it, or nothing and why.
  void adopt(const Payload& payload, Done& done) {
    auto snapshot = decode_snapshot<S>(payload, schema_hash(), objective_->dimension());
    if (snapshot && snapshot->kind == state_kind() && !has_shape_of_state(*snapshot))
      snapshot = fail("the snapshot's state has not the shape of {}", options_name());
    if (!snapshot) {
      done.trouble = snapshot.error().text;
      return;
    }
    begin_at(snapshot->x);
    is_initialized_ = true;
    step_->reset();
    refusal_ = {};
    // Whoever runs another local optimizer takes the parameters, and begins with a state of its
    // own.
    if (snapshot->kind == state_kind()) load(*snapshot);
  }

  // That of the algorithm, and behind it that of the local optimizer.
  State<S> state() const {
    State<S> state = algorithm_->state();
    const State<S> optimizer = step_->state();
    std::ranges::copy(optimizer.vectors, std::back_inserter(state.vectors));
    std::ranges::copy(optimizer.numbers, std::back_inserter(state.numbers));
    return state;
  }

  bool has_shape_of_state(const Snapshot<S>& snapshot) const {
    const State<S> own = state();
    return snapshot.vectors.size() == own.vectors.size() &&
           snapshot.numbers.size() == own.numbers.size();
  }

  void load(const Snapshot<S>& snapshot) {
    const State<S> own = state();
    for (std::size_t k = 0; k < own.vectors.size(); ++k)
      std::ranges::copy(snapshot.vectors[k], own.vectors[k].begin());
    for (std::size_t k = 0; k < own.numbers.size(); ++k) *own.numbers[k] = snapshot.numbers[k];
  }

  std::string options_name() const {
    return fmt::format("{} {}", options_.algorithm->name, name(options_.local_optimizer));
  }
  std::uint64_t state_kind() const { return stable_hash(options_name()); }
  std::uint64_t schema_hash() const {
    return stable_hash(
        fmt::format("{} {} {}", objective_->schema(), options_.codec->name, sizeof(S)));
  }

  void offer(Done& done) {
    Offer made = algorithm_->offer();
    done.is_offer = true;
    done.offer = offered_ = std::move(made.vector);
    done.edge_offers = std::move(made.of_edge);
  }

  void absorb(const Job& job, Done& done) {
    std::vector<MixTerm> terms = job.mix;
    if (PLANTED(term_lost) && !terms.empty()) terms.pop_back();
    for (MixTerm& term : terms)
      if (term.own.empty()) term.own = offered_;
    MixResult mixed = algorithm_->absorb(terms);
    done.stats.distances = std::move(mixed.distances);
    done.rejections = std::move(mixed.rejections);
  }

  void describe_model(const Job& job, Done& done) {
    const std::span<const S> x = algorithm_->model();
    if (const auto optimum = objective_->optimum(); !optimum.empty())
      done.stats.distance_to_optimum = std::sqrt(squared_distance(x, optimum));
    if (x.size() > kSketchAlwaysLimit && !job.evaluate) return;
    done.stats.norm = std::sqrt(squared_norm(x));
    std::array<double, kSketchSize> buckets{};
    sketch(x, buckets);
    done.stats.sketch.assign(buckets.begin(), buckets.end());
  }

  void evaluate(const Job& job, Done& done) {
    done.evaluation = objective_->evaluate(algorithm_->model(), options_.evaluation_samples);
    done.evaluation->round = job.round > 0 ? job.round - 1 : 0;
  }

  void local(const Job& job, Done& done) {
    step_->set_round(job.round);
    if (!algorithm_->local(*step_))
      refusal_ = {job.round, fmt::format("{} in round {}; lower optim.learning-rate (now {})",
                                         step_->refusal(), job.round, step_->learning_rate())};
    if (job.round < refusal_.round + kTroubledRounds && !refusal_.text.empty())
      done.trouble = refusal_.text;
    done.stats.steps = options_.local_steps;
    done.stats.samples = step_->batch_samples() * options_.local_steps;
    done.stats.loss = step_->loss();
    done.stats.gradient_norm = step_->gradient_norm();
    done.stats.learning_rate = step_->learning_rate();
  }

  Options options_;
  std::unique_ptr<Objective<S>> objective_;
  std::uint64_t stream_;
  std::function<Time()> clock_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  std::unique_ptr<Algorithm<S>> algorithm_;
  Payload offered_;              // last; empty where each neighbour was told something else
  bool is_founded_ = false;      // on surveys
  bool is_initialized_ = false;  // x is the initial model, or that of another
  std::optional<LocalStep<S>> step_;
  // Of the last step that was refused.
  struct {
    std::uint64_t round = 0;
    std::string text;
  } refusal_;
};

}  // namespace

template <class S>
std::unique_ptr<Trainer> make_trainer(const Options& options,
                                      std::unique_ptr<Objective<S>> objective, std::uint64_t stream,
                                      std::function<Time()> clock) {
  return std::make_unique<TypedTrainer<S>>(options, std::move(objective), stream, std::move(clock));
}

template std::unique_ptr<Trainer> make_trainer(const Options&, std::unique_ptr<Objective<float>>,
                                               std::uint64_t, std::function<Time()>);
template std::unique_ptr<Trainer> make_trainer(const Options&, std::unique_ptr<Objective<double>>,
                                               std::uint64_t, std::function<Time()>);

}  // namespace starling::optim
