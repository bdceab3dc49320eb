#include "daemon/attach/external_learner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/ids.h"
#include "daemon/attach/external_objective.h"
#include "daemon/attach/loop_watch.h"
#include "daemon/attach/tensor_io.h"
#include "optim/local/left_out.h"

namespace starling::daemon {
namespace {

// How long to wait for a lost trainer to attach again. Longer: the node is late for its neighbours
// for longer before it rests. Shorter: rounds pass without steps.
constexpr std::chrono::milliseconds kReturnPatience{500};

template <class S>
class ExternalLearner final : public optim::Learner<S>, public optim::LocalData {
 public:
  ExternalLearner(const optim::Options& options, TrainerPort& port, ExternalModel<S> model,
                  ExternalData data, Keepsake keepsake, std::size_t share_limit,
                  std::uint64_t stream)
      : port_(&port),
        model_(std::move(model)),
        data_(std::move(data)),
        keepsake_(std::move(keepsake)),
        share_limit_(share_limit),
        rate_(options.learning_rate) {
    auto objective = std::make_unique<ExternalObjective<S>>(model_, port, data_);
    objective_ = objective.get();
    by_gradients_ = std::make_unique<optim::LocalLearner<S>>(options, std::move(objective), stream);
  }

  std::span<const optim::ParameterBlock> blocks() const override { return model_.blocks; }
  void initialize(std::span<S> x, std::uint64_t) const override {
    std::ranges::copy(model_.initial, x.begin());
  }
  optim::Report advance(std::span<const S> x, const optim::LocalSteps<S>& steps,
                        const optim::Moves<S>& to) override {
    model_.initial = std::vector<S>();  // x has begun with it; = {} would keep the memory
    const auto trainer = await(kReturnPatience);
    if (!trainer) return stay(x, steps, to, "no trainer is attached");
    data_.set_samples(trainer->hello.samples);
    if (trainer->hello.mode == TrainerMode::loop) return by_loop(*trainer, x, steps, to);
    optim::Report report = by_gradients_->advance(x, steps, to);
    if (!objective_->refusal().empty()) {
      if (port_->is_interrupted()) return stay(x, steps, to, "");
      report.refusal = objective_->refusal();
      report.is_cured_by_rate = false;
    }
    keepsake_.keep(*trainer);
    return report;
  }

  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override {
    const auto trainer = await({});
    if (trainer && trainer->hello.mode == TrainerMode::gradients)
      return by_gradients_->evaluate(x, limit);
    const Metrics metrics = port_->metrics();
    optim::Evaluation evaluation = evaluation_of(metrics, loss_);
    // Without a word of the trainer it is the loss of the last steps.
    evaluation.is_repeated =
        std::exchange(evaluated_, metrics.records) == metrics.records && metrics.records > 0;
    return evaluation;
  }

  // A newcomer's trainer steps by an optimizer of its own.
  optim::State<S> state(optim::Heir heir) override {
    optim::State<S> state;
    if (heir != optim::Heir::newcomer) {
      const auto trainer = port_->await({});
      keepsake_.refresh(trainer);
      if (trainer && trainer->hello.mode == TrainerMode::gradients)
        state = by_gradients_->state(heir);
    }
    state.opaque = keepsake_.share(heir);
    state.opaque_limit = share_limit_;
    return state;
  }

  void restart(const Payload& opaque, optim::Heir heir) override {
    by_gradients_->restart({}, heir);
    data_.adopted();
    keepsake_.adopt(opaque, heir);
  }

  std::string survey() const override { return data_.survey(); }
  Result<void> found(std::span<const std::string> surveys) override {
    return by_gradients_->found(surveys);
  }
  std::string foundation() const override { return data_.foundation(); }
  void assign(const optim::Shard& shard) override { by_gradients_->assign(shard); }
  optim::DataSummary describe() const override { return data_.describe(); }

 private:
  // The trainer, greeted.
  std::shared_ptr<const Attached> await(std::chrono::milliseconds patience) {
    auto trainer = port_->await(patience);
    if (!trainer || !keepsake_.greet(trainer)) return trainer;
    const bool is_corrected = port_->terms().algorithm->loop != optim::LoopDuty::none;
    watch_.begin(trainer->hello, trainer->table, is_corrected);
    rate_ = trainer->hello.learning_rate.value_or(rate_);
    return trainer;
  }

  // The trainer takes no steps, for that reason; there is none where the end of the run has cut
  // them short. For long, it is as on a node without samples (optim/local/left_out.h).
  optim::Report stay(std::span<const S> x, const optim::LocalSteps<S>& steps,
                     const optim::Moves<S>& to, std::string reason) {
    const double rate = is_loop_ ? rate_of_sum() : steps.learning_rate;
    const bool is_corrected = left_out_.takes_correction(false);
    const bool moves = is_corrected && steps.goes_on && add_to_step(steps, rate);
    const S count = static_cast<S>(steps.count);
    const std::span<const S> c = correction_;
    std::ranges::fill(to.sum, S{0});
    std::ranges::fill(to.direction, S{0});
    if (is_corrected && !to.direction.empty()) optim::add(steps.added, to.direction);
    if (!to.end.empty() && to.end.data() != x.data()) std::ranges::copy(x, to.end.begin());
    if (moves && !to.sum.empty()) optim::axpy(count, c, to.sum);
    if (moves && !to.end.empty()) optim::axpy(count, c, to.end);
    optim::Report report;
    report.loss = loss_;
    const bool has_left = port_->status().state == TrainerStatus::State::closed;
    if (!port_->is_interrupted() && !has_left) report.refusal = std::move(reason);
    report.is_cured_by_rate = false;
    report.learning_rate = rate;
    report.steps = 0;
    if (is_loop_) report.measurements = port_->metrics().records;
    return report;
  }

  optim::Report by_loop(const Attached& trainer, std::span<const S> x,
                        const optim::LocalSteps<S>& steps, const optim::Moves<S>& to) {
    is_loop_ = true;
    if (!can_take(trainer.hello, steps, to))
      return stay(x, steps, to, "the algorithm needs a trainer that serves gradients");
    const StepRequest request{.count = steps.count,
                              .round = this->round(),
                              .learning_rate = steps.learning_rate,
                              .corrects = add_to_gradient(steps),
                              .shifts = add_to_step(steps, rate_of_sum()),
                              .tracks = !to.direction.empty(),
                              .place = data_.shard().place,
                              .nodes = std::max<std::size_t>(data_.shard().members.size(), 1)};
    const std::span<std::byte> values = trainer.segment.at(trainer.hello.values);
    write_vector<S>(trainer.table, x, values);
    if (request.corrects || request.shifts)
      write_vector<S>(trainer.table, correction_, trainer.segment.at(trainer.hello.correction));
    const auto answer = port_->ask(trainer, request);
    if (!answer) return stay(x, steps, to, "the trainer is gone, and with it its steps");
    if (!answer->refusal.empty()) return stay(x, steps, to, "the trainer: " + answer->refusal);
    std::string name = not_finite<S>(trainer.table, values);
    if (name.empty() && request.tracks)
      name = not_finite<S>(trainer.table, trainer.segment.at(trainer.hello.gradient));
    if (!name.empty())
      return stay(x, steps, to,
                  fmt::format("the trainer's \"{}\" holds a number that is not finite", name));
    rate_ = answer->learning_rate.value_or(rate_);
    const bool weighs = steps.correction.empty() && to.direction.empty();
    take(trainer, x, to, weighs);
    keepsake_.keep(trainer);
    optim::Report report = report_of(*answer, steps.count, weighs ? rate_ : rate_of_sum());
    report.loop_moved = watch_.has_moved();
    const LoopWatch::Finding finding = watch_.end(*answer, steps.count);
    if (!finding.note.empty()) port_->complain(finding.note, false);
    if (finding.is_lasting) port_->complain(finding.fault, true);
    if (report.steps == 0) return stay(x, steps, to, finding.fault);
    left_out_.takes_correction(true);
    report.refusal = finding.fault;
    report.is_cured_by_rate = false;
    return report;
  }

  // Writes into correction_ the addition to the gradient of each step, and to the parameters after
  // each. False: none.
  bool add_to_gradient(const optim::LocalSteps<S>& steps) {
    if (steps.linear.empty() && steps.added.empty()) return false;
    correction_.assign(this->dimension(), S{0});
    if (!steps.linear.empty()) optim::axpy(S{1}, steps.linear, std::span<S>(correction_));
    optim::add(steps.added, std::span<S>(correction_));
    if (const S weight = static_cast<S>(data_.weight()); weight != 1)
      for (S& value : correction_) value /= weight;
    clear_statistics();
    return true;
  }

  bool add_to_step(const optim::LocalSteps<S>& steps, double rate) {
    if (steps.correction.empty()) return false;
    correction_.assign(this->dimension(), S{0});
    for (const optim::Scaled<S>& term : steps.correction)
      optim::axpy(static_cast<S>(rate) * term.factor, term.values, std::span<S>(correction_));
    clear_statistics();
    return true;
  }

  // They have no gradient.
  void clear_statistics() {
    for (const optim::ParameterBlock& block : model_.statistics)
      std::ranges::fill(std::span(correction_).subspan(block.offset, block.size()), S{0});
  }
  // A request that the check of the trainer's hello should have refused (trainer_terms.h).
  static bool can_take(const Hello& hello, const optim::LocalSteps<S>& steps,
                       const optim::Moves<S>& to) {
    const bool corrects = !steps.linear.empty() || !steps.added.empty() || !to.direction.empty();
    const bool shifts = !steps.correction.empty();
    if (steps.mu > 0 || steps.is_exact || (corrects && shifts)) return false;
    return (!corrects || hello.corrects) && (!shifts || hello.shifts);
  }

  optim::Report report_of(const TrainerAnswer& answer, std::size_t steps, double rate) {
    optim::Report report;
    report.loss = loss_ = answer.loss.value_or(std::numeric_limits<double>::quiet_NaN());
    report.gradient_norm = answer.gradient_norm.value_or(0);
    report.batch_samples =
        std::max<std::size_t>(answer.samples / std::max<std::size_t>(steps, 1), 1);
    report.learning_rate = rate;
    report.measurements = port_->metrics().records;
    report.steps = answer.steps.value_or(steps);
    if (*report.steps == 0 && watch_.has_moved()) report.steps = steps;  // by another optimizer
    return report;
  }

  bool is_statistic(std::size_t place) const {
    return std::ranges::any_of(model_.statistics, [place](const optim::ParameterBlock& block) {
      return place >= block.offset && place - block.offset < block.size();
    });
  }
  // The displacement of the trainer's parameters, with `weighs` times the node's weight: so FedAvg
  // weighs. Statistics are no sums, and weigh the same on all nodes. A tile that the trainer spoilt
  // after the check counts as not moved.
  void take(const Attached& trainer, std::span<const S> x, const optim::Moves<S>& to, bool weighs) {
    const S weight = static_cast<S>(data_.weight());
    const auto take_tile = [&](std::size_t first, std::span<const S> found) {
      const std::size_t count = found.size();
      const S part = weighs && weight != 1 && !is_statistic(first) ? weight : S{1};
      const std::span<const S> before = x.subspan(first, count);
      const std::span<const S> tile = is_finite(found) ? found : before;
      watch_.compare(first, before, tile);
      if (!to.sum.empty()) {
        const std::span<S> sum = to.sum.subspan(first, count);
        for (std::size_t k = 0; k < count; ++k) sum[k] = part * (tile[k] - before[k]);
      }
      if (to.end.empty()) return;
      const std::span<S> end = to.end.subspan(first, count);
      if (part == 1)
        copy_numbers(tile, reinterpret_cast<std::byte*>(end.data()), x.size_bytes());
      else
        for (std::size_t k = 0; k < count; ++k) end[k] = before[k] + part * (tile[k] - before[k]);
    };
    for_each_tile<S>(trainer.table, trainer.segment.at(trainer.hello.values), take_tile);
    if (to.direction.empty()) return;
    const auto take_direction = [&](std::size_t first, std::span<const S> found) {
      const std::span<S> direction = to.direction.subspan(first, found.size());
      if (is_finite(found))
        std::ranges::transform(found, direction.begin(), [weight](S g) { return weight * g; });
      else
        std::ranges::fill(direction, S{0});
    };
    for_each_tile<S>(trainer.table, trainer.segment.at(trainer.hello.gradient), take_direction);
  }

  // A loop's rate for F_i corresponds to this rate for its term in the sum, weight F_i. Exact
  // algorithms use it: their limit is the optimum of the sum whatever the rates are.
  double rate_of_sum() const { return rate_ / data_.weight(); }

  TrainerPort* port_;
  ExternalModel<S> model_;
  ExternalData data_;
  Keepsake keepsake_;
  std::size_t share_limit_;
  ExternalObjective<S>* objective_;
  std::unique_ptr<optim::LocalLearner<S>> by_gradients_;
  std::vector<S> correction_;
  double loss_ = std::numeric_limits<double>::quiet_NaN();  // the last; not a number: none yet
  bool is_loop_ = false;                                    // so was the last trainer
  // The last rate that a loop reported; else optim.learning-rate, whatever the schedule: as a unit
  // of corrections any constant rate works that is equal at all nodes.
  double rate_;
  std::uint64_t evaluated_ = 0;  // records of the trainer's measurements
  LoopWatch watch_;
  optim::LeftOut left_out_;
};

template <class S>
ExternalModel<S> model_of(const Attached& trainer) {
  ExternalModel<S> model;
  model.blocks.assign(trainer.table.blocks().begin(), trainer.table.blocks().end());
  model.initial.resize(trainer.table.dimension());
  model.statistics = trainer.table.statistics();
  for_each_tile<S>(trainer.table, trainer.segment.at(trainer.hello.values),
                   [&](std::size_t first, std::span<const S> values) {
                     std::ranges::copy(values,
                                       model.initial.begin() + static_cast<std::ptrdiff_t>(first));
                   });
  return model;
}

}  // namespace

template <class S>
std::unique_ptr<optim::Trainer> make_external_trainer(const optim::Options& options,
                                                      TrainerPort& port, const Attached& first,
                                                      const SavePlan& saves, std::uint64_t stream,
                                                      std::function<Time()> clock) {
  ExternalModel<S> model = model_of<S>(first);
  const std::string_view bytes(reinterpret_cast<const char*>(model.initial.data()),
                               model.initial.size() * sizeof(S));
  ExternalData data(first.table.schema(), stable_hash(bytes), first.hello.samples,
                    port.terms().weighs_samples);
  Keepsake keepsake(port, saves, clock);
  const std::size_t limit = Keepsake::share_limit(first);
  auto learner = std::make_unique<ExternalLearner<S>>(
      options, port, std::move(model), std::move(data), std::move(keepsake), limit, stream);
  optim::LocalData& duties = *learner;
  return optim::make_trainer<S>(options, std::unique_ptr<optim::Learner<S>>(std::move(learner)),
                                duties, std::move(clock));
}

template std::unique_ptr<optim::Trainer> make_external_trainer<float>(const optim::Options&,
                                                                      TrainerPort&, const Attached&,
                                                                      const SavePlan&,
                                                                      std::uint64_t,
                                                                      std::function<Time()>);
template std::unique_ptr<optim::Trainer> make_external_trainer<double>(
    const optim::Options&, TrainerPort&, const Attached&, const SavePlan&, std::uint64_t,
    std::function<Time()>);

}  // namespace starling::daemon
