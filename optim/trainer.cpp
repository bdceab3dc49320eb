#include "optim/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/check.h"
#include "base/content_hash.h"
#include "base/ids.h"
#include "base/planted.h"
#include "base/prng.h"
#include "optim/algorithms/algorithm.h"
#include "optim/kept_models.h"
#include "optim/local/local_learner.h"
#include "optim/saved_state.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// Above so many parameters the sketch is computed only every kSketchEvery rounds, in the same
// rounds at all nodes: models are compared by sketches of one round.
constexpr std::size_t kSketchAlwaysLimit = 200'000;
constexpr std::uint64_t kSketchEvery = 10;

// A refused step is reported as a problem for so many rounds, even if later steps are taken.
constexpr std::uint64_t kProblemRounds = 10;
constexpr std::size_t kTallyTile = 1024;  // numbers that lie in the first-level cache
constexpr double kAnyNorm = std::numeric_limits<double>::infinity();

// Which parts of two kinds of state are equal. A kind is "ALGORITHM OPTIMIZER".
struct Fit {
  bool algorithm, optimizer;
};
Fit fit_of(std::string_view theirs, std::string_view own) {
  const std::size_t end = theirs.find(' '), own_end = own.find(' ');
  return {theirs.substr(0, end) == own.substr(0, own_end),
          theirs.substr(end + 1) == own.substr(own_end + 1)};
}
// Beside matrices, what has one dimension travels whole; see Segment.
std::vector<Segment> segments_of(std::span<const ParameterBlock> blocks) {
  const auto is_line = [](const ParameterBlock& block) { return block.extents.size() < 2; };
  const bool are_lines = std::ranges::all_of(blocks, is_line);
  std::vector<Segment> segments;
  for (const ParameterBlock& block : blocks)
    segments.push_back({block.size(), !are_lines && is_line(block)});
  return segments;
}

// Of the names, shapes and bytes of the tensors, and of the type of their numbers.
template <class S>
std::uint64_t model_hash(std::span<const ParameterBlock> blocks, std::span<const S> x) {
  std::uint64_t hash = sizeof(S);
  for (const ParameterBlock& block : blocks) {
    hash = mix64(hash ^ stable_hash(block.name));
    for (const std::size_t extent : block.extents) hash = mix64(hash ^ extent);
  }
  return std::max<std::uint64_t>(1, mix64(hash ^ content_hash(std::as_bytes(x))));
}

// m = (x + sum_k n_k m_k) / (1 + sum_k n_k), summed in f64. Empty if a part has another size.
template <class S>
Payload mean_of(std::span<const S> x, std::span<const ModelMean> parts, BufferPool& pool) {
  double models = 1;
  for (const ModelMean& part : parts) {
    if (part.vector.size() != x.size_bytes()) return {};
    models += static_cast<double>(part.models);
  }
  auto buffer = pool.take(x.size_bytes());
  const std::span<S> mean(reinterpret_cast<S*>(buffer.get()), x.size());
  std::array<S, kTallyTile> theirs;
  std::array<double, kTallyTile> sums;
  for (std::size_t first = 0; first < x.size(); first += kTallyTile) {
    const std::size_t size = std::min(kTallyTile, x.size() - first);
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(first), size, sums.begin());
    for (const ModelMean& part : parts) {
      const std::span<S> tile = std::span(theirs).first(size);
      part.vector.copy_to(first * sizeof(S), std::as_writable_bytes(tile));
      for (std::size_t k = 0; k < size; ++k)
        sums[k] += static_cast<double>(part.models) * static_cast<double>(tile[k]);
    }
    for (std::size_t k = 0; k < size; ++k) mean[first + k] = static_cast<S>(sums[k] / models);
  }
  return BufferPool::seal(std::move(buffer), x.size_bytes());
}

std::string_view unfit_part(const Fit& fit) {
  return fit.optimizer ? "the algorithm" : fit.algorithm ? "the optimizer" : "the node";
}

template <class S>
std::uint64_t hash_of(const std::string& schema, const WireForm& codec) {
  return stable_hash(
      fmt::format("{} {} {} {}", schema, to_string(codec), codec.coding.parts, sizeof(S)));
}

bool uses_model(const Job& job) {
  return job.absorb || job.tally || job.seal || job.copy || job.snapshot || job.save ||
         job.evaluate || job.local || job.offer;
}

// A large model is also described when the node stops.
bool is_described(const Job& job) {
  return job.offer ? job.round % kSketchEvery == 1 : job.absorb;
}

template <class S>
class TypedTrainer final : public Trainer {
 public:
  TypedTrainer(const Options& options, std::unique_ptr<Learner<S>> learner, LocalData& data,
               std::function<Time()> clock)
      : options_(options), learner_(std::move(learner)), data_(&data), clock_(std::move(clock)) {}

  Workload workload() const override {
    DataSummary data = data_->describe();
    Workload workload;
    if (!algorithm_) workload.survey = data_->survey();
    if (is_founded_) workload.foundation = data_->foundation();
    workload.shard_samples = data.samples;
    workload.shard_description = std::move(data.shard);
    workload.notes = std::move(data.notes);
    workload.preparation = std::move(data.preparation);
    workload.strangeness = std::move(data.strangeness);
    if (!algorithm_) return workload;
    WireForm form = options_.codec;
    form.segments = segments_of(learner_->blocks());
    const std::size_t vectors = options_.algorithm->vectors_offered;
    const auto sent =
        make_edge_form<S>(form, vectors * count_of(form.segments), options_.aggregation);
    workload.payload_bytes = sent->bytes_limit();
    workload.vector_bytes = sent->vector_bytes();
    workload.f32_bytes = sizeof(float) * vectors * learner_->dimension();
    // An exact algorithm's average overwrites no vector: whole buffers would only cost memory.
    const std::size_t bytes = sizeof(S) * vectors * learner_->dimension();
    if (workload.vector_bytes == bytes && !options_.algorithm->is_exact)
      workload.take_buffer = [pool = learner_->pool()](std::size_t size) {
        return pool->take(size);
      };
    const State<S> kept = state(Heir::newcomer, kind());
    workload.snapshot_bytes = encoded_limit(data.schema, learner_->blocks(), kept);
    workload.saved_bytes = (1 + kept.vectors.size()) * learner_->dimension() * sizeof(S);
    workload.schema_hash = hash_of<S>(data.schema, options_.codec);
    workload.schema = std::move(data.schema);
    workload.late_survey = std::move(data.late_survey);
    workload.needs_model = data.needs_model;
    workload.privacy = data.privacy;
    return workload;
  }

  Done run(const Job& job) override {
    Done done;
    done.round = job.round;
    if (job.options) {
      take_live(options_, *job.options);
      learner_->set_batch_size(options_.batch_size);
    }
    if (job.anew && algorithm_) {
      const std::span<const S> x = algorithm_->model();
      begin_at(std::vector<S>(x.begin(), x.end()));
      done.workload = workload();
    }
    take_duties(job, done);
    if (algorithm_)
      use_model(job, done);
    else if ((job.adopt || job.resume) && !done.problem)
      done.problem = "the model came without the data statistics it is founded on";
    return done;
  }

  std::vector<double> parameters() const override {
    if (!algorithm_) return {};
    const std::vector<S> initial = is_initialized_ ? std::vector<S>() : initial_model();
    const auto x = is_initialized_ ? algorithm_->model() : std::span(initial);
    return {x.begin(), x.end()};
  }

  std::vector<double> model() const override {
    std::vector<double> x = parameters();
    const auto model_of = data_->describe().model_of;
    return x.empty() || !model_of ? x : model_of(x);
  }

  std::vector<double> optimum() const override {
    const std::vector<S> x = optimum_in_model_numbers();
    return {x.begin(), x.end()};
  }

 private:
  // The parts of a job about the data.
  void take_duties(const Job& job, Done& done) {
    if (job.foundation) lay_foundation(job, done);
    if (job.shard) assign(*job.shard);
    if (!job.foundation && !job.shard) return;
    optimum_ = optimum_in_model_numbers();
    done.workload = workload();
  }

  // The parts about the model, in the order of job.h.
  void use_model(const Job& job, Done& done) {
    Laps& laps = done.stats.laps;
    laps.begun = clock_();
    if (job.adopt)
      adopt(job, done);
    else if (job.resume)
      inherit(*job.resume, Heir::self, kAnyNorm, done);
    if (!is_initialized_ && !uses_model(job)) return;
    initialize();
    refresh(done);
    take_in(job, done);
    describe_model(job, done);
    laps.mixed = clock_();
    if (job.evaluate) evaluate(job, done);
    laps.evaluated = clock_();
    if (job.local) local(job, done);
    laps.stepped = clock_();
    if (job.offer) offer(job, done);
    laps.encoded = clock_();
    done.stats.compute = laps.stepped - laps.mixed;
    done.stats.evaluation = laps.evaluated - laps.mixed;
    done.stats.mix = (laps.mixed - laps.begun) + (laps.encoded - laps.stepped);
  }

  // The parts that end the previous rounds, and copies of the result.
  void take_in(const Job& job, Done& done) {
    if (job.absorb || job.offer) algorithm_->follow({job.edges, job.ending, job.mask_group});
    if (job.absorb) absorb(job, done);
    const auto kept = kept_.models().find(job.back_to);
    if (job.back_to > 0 && kept != kept_.models().end()) begin_at(kept->second);
    if (job.tally) done.tally = mean_of<S>(algorithm_->model(), *job.tally, *learner_->pool());
    if (job.seal) seal(*job.seal, done);
    if (job.copy) done.copy = model();
    if (BufferPool once; job.snapshot) done.snapshot = encode(save(Heir::newcomer, once));
    if (job.save)
      done.saved =
          std::make_shared<const SavedState>(save(job.whole ? Heir::rested : Heir::self, saving_));
  }

  void refresh(Done& done) {
    if (!data_->refresh()) return;
    optimum_ = optimum_in_model_numbers();
    done.workload = workload();
  }

  // The limit of adamw, whose decay is no part of the gradient, has no closed form.
  std::vector<S> optimum_in_model_numbers() const {
    std::vector<S> x;
    if (options_.local_optimizer == LocalOptimizerKind::adamw && options_.weight_decay > 0)
      return x;
    for (const double value : data_->describe().optimum) x.push_back(static_cast<S>(value));
    return x;
  }

  void begin_at(const std::vector<S>& x) {
    algorithm_.reset();  // its buffers are used again
    algorithm_ = make_algorithm<S>(options_, std::span<const S>(x), learner_->pool(),
                                   segments_of(learner_->blocks()));
  }

  std::vector<S> initial_model() const {
    std::vector<S> x(learner_->dimension());
    learner_->initialize(x, options_.seed);
    return x;
  }

  // As late as possible: drawing a million numbers takes a newcomer longer than fetching them.
  void initialize() {
    if (!std::exchange(is_initialized_, true)) begin_at(initial_model());
  }

  void lay_foundation(const Job& job, Done& done) {
    if (auto founded = data_->found(*job.foundation); !founded)
      done.problem = founded.error().text;
    else
      begin_at(std::vector<S>(learner_->dimension())), is_founded_ = true;
  }

  // The same shard again leaves the order of the samples as it is.
  void assign(const Shard& shard) {
    if (std::exchange(shard_, shard) == shard) return;
    data_->assign(shard);
    if (!algorithm_ && data_->survey().empty()) begin_at(std::vector<S>(learner_->dimension()));
  }

  SavedState save(Heir heir, BufferPool& pool) const {
    SavedState saved =
        save_state(algorithm_->model(), learner_->blocks(), state(heir, kind()), pool);
    saved.schema = data_->describe().schema;
    saved.kind = kind();
    return saved;
  }

  void adopt(const Job& job, Done& done) {
    if (const auto saved = decode_saved_state(*job.adopt))
      inherit(*saved, Heir::newcomer, job.adopt_norm_most, done);
    else
      done.problem = saved.error().text;
    if (job.resume && !done.problem) learner_->restart(job.resume->opaque, Heir::back);
  }

  // Takes the parameters and the parts of the state that fit; or nothing, and reports why.
  void inherit(const SavedState& saved, Heir heir, double norm_most, Done& done) {
    const auto x = parameters_of(saved, heir, norm_most);
    if (!x) {
      done.problem = x.error().text;
      return;
    }
    begin_at(*x);
    is_initialized_ = true;
    learner_->restart(saved.opaque, heir);
    refusal_ = {};
    load_state(saved, x->size(), state(heir, saved.kind));
    done.workload = workload();
    if (const Fit fit = fit_of(saved.kind, kind()); !fit.algorithm || !fit.optimizer)
      done.workload->notes.push_back(fmt::format(
          "the model comes with the state of {}; {} begins with a state of its own, of {}",
          saved.kind, unfit_part(fit), kind()));
  }

  // The parameters, if they and the state that would be taken fit.
  Result<std::vector<S>> parameters_of(const SavedState& saved, Heir heir, double norm_most) const {
    if (const std::string schema = data_->describe().schema; saved.schema != schema)
      return fail("it is of another model: {}; this one is {}", saved.schema, schema);
    TRY(std::vector<S> x, load_parameters<S>(saved, learner_->blocks()));
    if (const double norm = std::sqrt(squared_norm(std::span<const S>(x))); !(norm <= norm_most))
      return fail("its norm is {:.3g}, where {:.3g} is the most by the models of other nodes", norm,
                  norm_most);
    TRY_DO(check_state(saved, x.size(), state(heir, saved.kind)));
    return x;
  }

  // The kind of the state: what it depends on.
  std::string kind() const {
    return fmt::format("{} {}", full_name(options_), name(options_.local_optimizer));
  }
  // The state that fits a state of that kind. For another node, without edges, the order of samples
  // and the lengths of steps.
  State<S> state(Heir heir, std::string_view kind) const {
    State<S> state;
    const Fit fit = fit_of(kind, this->kind());
    if (fit.algorithm) state.add("algorithm", algorithm_->state());
    if (fit.optimizer) state.add("learner", learner_->state(heir));
    if (heir == Heir::newcomer) state.own = {}, state.orders = {}, state.edges = {};
    return state;
  }

  void offer(const Job& job, Done& done) {
    Offer made = algorithm_->offer(job.offer_to);
    done.is_offer = true;
    done.offer = std::move(made.vector);
    done.edge_offers = std::move(made.of_edge);
    done.codec = made.codec;
    done.reach = made.reach;
    if (!made.problem.empty() && !done.problem) done.problem = std::move(made.problem);
  }

  void absorb(const Job& job, Done& done) {
    std::span<const MixTerm> terms = job.mix;
    if (PLANTED(term_lost) && !terms.empty()) terms = terms.first(terms.size() - 1);
    MixResult mixed = algorithm_->absorb(terms, !job.between);
    done.stats.distances = std::move(mixed.distances);
    done.rejections = std::move(mixed.rejections);
  }

  void seal(const Seal& seal, Done& done) {
    const std::span<const S> x = algorithm_->model();
    if (seal.vector.size() != x.size_bytes()) {
      done.problem =
          fmt::format("has {} bytes, where this node's has {}", seal.vector.size(), x.size_bytes());
      return;
    }
    std::vector<S> sealed(x.size());
    seal.vector.copy_to(0, std::as_writable_bytes(std::span(sealed)));
    const double distance = std::sqrt(squared_distance(x, std::span<const S>(sealed)));
    const std::uint64_t hash = model_hash(learner_->blocks(), std::span<const S>(sealed));
    // Others may have kept theirs one evaluation earlier or later.
    double within = seal.within;
    for (const auto& [round, kept] : kept_.models())
      within = std::max(within, std::sqrt(squared_distance(x, std::span<const S>(kept))));
    const bool is_known = hash == seal.expected;
    if (!is_known && !(distance <= within)) {
      done.problem = fmt::format(
          "lies {:.3g} from this node's, where {:.3g} is the most by its distance from its "
          "neighbours",
          distance, within);
      return;
    }
    if (!PLANTED(seal_not_taken)) begin_at(sealed);
    done.sealed = hash;
  }

  // Within a masked round x is this node's alone, and the sketch is told.
  void describe_model(const Job& job, Done& done) {
    if (job.between && job.mask_group) return;
    const std::span<const S> x = algorithm_->model();
    if (!optimum_.empty())
      done.stats.distance_to_optimum = std::sqrt(squared_distance(x, std::span<const S>(optimum_)));
    if (x.size() > kSketchAlwaysLimit && !is_described(job)) return;
    done.stats.norm = std::sqrt(squared_norm(x));
    std::array<double, kSketchSize> buckets{};
    sketch(x, buckets);
    done.stats.sketch.assign(buckets.begin(), buckets.end());
  }

  void evaluate(const Job& job, Done& done) {
    const std::span<const S> x = algorithm_->model();
    const std::size_t limit = job.whole ? 0 : options_.evaluation_samples;
    Evaluation evaluation = learner_->evaluate(x, limit);
    const bool is_some = limit > 0 && !evaluation.is_whole();
    if (is_some && job.target.is_reached_by(evaluation)) evaluation = learner_->evaluate(x, 0);
    if (evaluation.is_repeated) return;
    kept_.add(job, x, evaluation);
    done.evaluation = evaluation;
  }

  static std::string describe_refusal(const Report& report, std::uint64_t round, double rate) {
    const std::string text = fmt::format("{} in round {}", report.refusal, round);
    if (!report.is_cured_by_rate) return text;
    return fmt::format("{}; lower optim.learning-rate (now {})", text, rate);
  }

  void local(const Job& job, Done& done) {
    const std::uint64_t counted = job.round - std::min(job.round, job.uncounted);
    const double rate = options_.learning_rate * factor(options_.schedule, counted);
    const std::size_t steps = job.local_steps;
    const double weight = options_.weighs_steps ? job.pace : 1;
    learner_->set_round(job.round);
    kept_.begin_steps(job, algorithm_->model());
    const Report report =
        algorithm_->local(*learner_, {.count = steps, .learning_rate = rate, .weight = weight});
    kept_.end_steps(job, report);
    if (!report.refusal.empty()) refusal_ = {job.round, describe_refusal(report, job.round, rate)};
    if (job.round < refusal_.round + kProblemRounds && !refusal_.text.empty())
      done.problem = refusal_.text;
    done.stats.steps = report.steps.value_or(steps);
    done.stats.path = static_cast<double>(steps) * report.learning_rate.value_or(rate) / weight;
    done.stats.samples = report.batch_samples * steps;
    done.stats.loop_moved = report.loop_moved;
    done.stats.privacy = report.privacy;
    done.stats.loss = report.loss;
    done.stats.gradient_norm = report.gradient_norm;
    done.stats.learning_rate = report.learning_rate.value_or(rate);
  }

  Options options_;
  std::unique_ptr<Learner<S>> learner_;
  LocalData* data_;
  std::function<Time()> clock_;
  std::optional<Shard> shard_;  // that was assigned last
  KeptModels<S> kept_;
  BufferPool saving_;  // for what is saved, whose size hardly changes
  std::unique_ptr<Algorithm<S>> algorithm_;
  bool is_founded_ = false;      // on surveys
  bool is_initialized_ = false;  // x is the initial model, or that of another
  std::vector<S> optimum_;       // of the data as they are now; empty: unknown
  // Of the last step that was refused.
  struct {
    std::uint64_t round = 0;
    std::string text;
  } refusal_;
};

}  // namespace

template <class S>
std::unique_ptr<Trainer> make_trainer(const Options& options, std::unique_ptr<Learner<S>> learner,
                                      LocalData& data, std::function<Time()> clock) {
  return std::make_unique<TypedTrainer<S>>(options, std::move(learner), data, std::move(clock));
}

template <class S>
std::unique_ptr<Trainer> make_trainer(const Options& options,
                                      std::unique_ptr<Objective<S>> objective, std::uint64_t stream,
                                      std::function<Time()> clock) {
  auto learner = std::make_unique<LocalLearner<S>>(options, std::move(objective), stream);
  LocalData& data = *learner;
  return make_trainer<S>(options, std::unique_ptr<Learner<S>>(std::move(learner)), data,
                         std::move(clock));
}

template std::unique_ptr<Trainer> make_trainer(const Options&, std::unique_ptr<Learner<float>>,
                                               LocalData&, std::function<Time()>);
template std::unique_ptr<Trainer> make_trainer(const Options&, std::unique_ptr<Learner<double>>,
                                               LocalData&, std::function<Time()>);
template std::unique_ptr<Trainer> make_trainer(const Options&, std::unique_ptr<Objective<float>>,
                                               std::uint64_t, std::function<Time()>);
template std::unique_ptr<Trainer> make_trainer(const Options&, std::unique_ptr<Objective<double>>,
                                               std::uint64_t, std::function<Time()>);

}  // namespace starling::optim
