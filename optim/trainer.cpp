#include "optim/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "base/planted.h"
#include "optim/algorithms/strategy.h"
#include "optim/combine/duals.h"
#include "optim/combine/flows.h"
#include "optim/combine/mixer.h"
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
    if (!strategy_) workload.survey = objective_->survey();
    if (is_founded_) workload.foundation = objective_->foundation();
    workload.shard_samples = objective_->samples();
    workload.shard_description = objective_->shard_description();
    workload.notes = objective_->notes();
    if (!strategy_) return workload;
    workload.payload_bytes = strategy_->offered().size() * bytes_per_number(options_.codec);
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
    if (!strategy_ && job.adopt && !done.trouble)
      done.trouble = "the model came without the data statistics it is founded on";
    if (!strategy_) return done;
    const Time started = clock_();
    if (job.adopt) adopt(*job.adopt, done);
    if (!is_initialized_ && !uses_model(job)) return done;
    initialize();
    if (job.absorb || job.offer) follow_edges(job);
    if (job.absorb) absorb(job, done);
    if (job.copy) done.copy = parameters();
    if (job.snapshot)
      done.snapshot = encode_snapshot(schema_hash(), state_kind(), strategy_->model(), state());
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
    if (!strategy_) return {};
    const std::vector<S> initial = is_initialized_ ? std::vector<S>() : initial_model();
    const auto x = is_initialized_ ? strategy_->model() : std::span(initial);
    return {x.begin(), x.end()};
  }

  std::vector<double> optimum() const override {
    const auto x = objective_->optimum();
    return {x.begin(), x.end()};
  }

 private:
  void start() {
    strategy_ = make_strategy<S>(options_, std::vector<S>(objective_->dimension()), pool_);
    step_.emplace(options_, *objective_, stream_);
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
    if (!std::exchange(is_initialized_, true)) strategy_->adopt(initial_model());
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
    if (!strategy_ && objective_->survey().empty()) start();
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
    strategy_->adopt(snapshot->x);
    is_initialized_ = true;
    step_->reset();
    refusal_ = {};
    // Whoever runs another local optimizer takes the parameters, and begins with a state of its
    // own.
    if (snapshot->kind == state_kind()) load(*snapshot);
  }

  // That of the algorithm, and behind it that of the local optimizer.
  State<S> state() const {
    State<S> state = strategy_->save();
    const State<S> optimizer = step_->save();
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
    const State<S> shape = strategy_->save();
    const auto vector = snapshot.vectors.begin() + std::ssize(shape.vectors);
    const auto number = snapshot.numbers.begin() + std::ssize(shape.numbers);
    strategy_->load({{snapshot.vectors.begin(), vector}, {snapshot.numbers.begin(), number}});
    step_->load({{vector, snapshot.vectors.end()}, {number, snapshot.numbers.end()}});
  }

  std::string options_name() const {
    return fmt::format("{} {}", options_.algorithm->name, name(options_.local_optimizer));
  }
  std::uint64_t state_kind() const { return stable_hash(options_name()); }
  std::uint64_t schema_hash() const {
    return stable_hash(
        fmt::format("{} {} {}", objective_->schema(), name(options_.codec), sizeof(S)));
  }

  void follow_edges(const Job& job) {
    if (Flows<S>* const flows = strategy_->flows()) flows->keep(job.edges);
    if (Duals<S>* const duals = strategy_->duals()) duals->keep(job.edges, strategy_->model());
  }

  void offer(Done& done) {
    done.is_offer = true;
    if (const Duals<S>* const duals = strategy_->duals())
      done.edge_offers = duals->tell(strategy_->model(), options_.codec, *pool_);
    else
      done.offer = sent_ = encode(options_.codec, strategy_->offered(), *pool_);
  }

  void absorb(const Job& job, Done& done) {
    if (Duals<S>* const duals = strategy_->duals())
      done.rejections = duals->hear(job.mix, options_.codec);
    else
      average(job, done);
  }

  void average(const Job& job, Done& done) {
    std::span<const MixTerm> terms = job.mix;
    if (PLANTED(term_lost) && !terms.empty()) terms = terms.first(terms.size() - 1);
    Flows<S>* const flows = strategy_->flows();
    std::vector<MixTerm> shared;
    for (const MixTerm& term : terms) {
      shared.push_back(term);
      shared.back().weight *= strategy_->share();
    }
    // What belongs to an edge that has ended is nobody's concern any more.
    if (flows)
      std::erase_if(shared, [&](const MixTerm& term) { return flows->of(term.edge).empty(); });
    MixResult mixed =
        mix(strategy_->offered(), sent_, std::span<const MixTerm>(shared), options_.codec);
    if (flows)
      for (const MixTerm* term : mixed.mixed) {
        MixTerm counted = *term;
        counted.weight *= strategy_->flow_gain(*term);
        accumulate(flows->of(term->edge), counted, sent_, options_.codec);
      }
    strategy_->absorbed();
    done.stats.distances = std::move(mixed.distances);
    done.rejections = std::move(mixed.rejections);
  }

  void describe_model(const Job& job, Done& done) {
    const std::span<const S> x = strategy_->model();
    if (const auto optimum = objective_->optimum(); !optimum.empty())
      done.stats.distance_to_optimum = std::sqrt(squared_distance(x, optimum));
    if (x.size() > kSketchAlwaysLimit && !job.evaluate) return;
    done.stats.norm = std::sqrt(squared_norm(x));
    std::array<double, kSketchSize> buckets{};
    sketch(x, buckets);
    done.stats.sketch.assign(buckets.begin(), buckets.end());
  }

  void evaluate(const Job& job, Done& done) {
    done.evaluation = objective_->evaluate(strategy_->model(), options_.evaluation_samples);
    done.evaluation->round = job.round > 0 ? job.round - 1 : 0;
  }

  void local(const Job& job, Done& done) {
    step_->set_round(job.round);
    if (!strategy_->local(*step_))
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
  Payload sent_;  // the offered vector as the neighbours got it
  std::unique_ptr<Strategy<S>> strategy_;
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
