#include "gossip/node/training_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

// A node without a step for so long, and for as long as so many of its rounds take, is idle. Less:
// a slow step counts as none. More: a fleet that stands still is said to train for longer.
constexpr double kIdleLeast_s = 2, kIdleRounds = 4;

}  // namespace

void TrainingProgress::begin(Time now, std::uint64_t round, const Checkpoint* before) {
  if (before) {
    run_.steps = before->steps;
    run_.samples = before->samples;
    before_s_ = before->trained_s;
  }
  begun_at_ = now;
  run_.round = begun_round_ = round;
}

void TrainingProgress::go_on(Time now) {
  paused_ += now - paused_at_.value_or(now);
  paused_at_.reset();
}

void TrainingProgress::set_workload(const optim::Workload& workload) {
  run_.shard_samples = workload.shard_samples;
  run_.shard_description = workload.shard_description;
  run_.preparation = workload.preparation;
  run_.codec.vector_bytes = workload.vector_bytes;
  run_.codec.f32_bytes = workload.f32_bytes;
  if (workload.privacy) run_.privacy = workload.privacy;
}

void TrainingProgress::set_codec(const optim::CodecReport& report) {
  CodecStatus& codec = run_.codec;
  codec.quality = report.quality;
  codec.memory_bytes = report.memory_bytes;
  codec.chosen = report.chosen;
  if (report.vector_bytes > 0) codec.vector_bytes = report.vector_bytes;
}

void TrainingProgress::set_steps(Time now, const optim::Stats& stats) {
  stepped_at_ = now;
  run_.local_steps = stats.steps;
  if (std::isfinite(stats.loss)) progress_.loss = stats.loss;
  run_.loss = progress_.loss;
  run_.learning_rate = stats.learning_rate;
  if (stats.privacy) run_.privacy = stats.privacy;
}

void TrainingProgress::record(Time now, const optim::Done& done, FleetMeans& means, Outbox& out) {
  const optim::Stats& stats = done.stats;
  if (done.workload) set_workload(*done.workload);
  run_.steps += stats.steps;
  run_.samples += stats.samples;
  if (done.problem && !run_.problem) out.event(Event::Kind::problem, *done.problem);
  if (stats.steps > 0 || done.problem) run_.problem = done.problem;
  if (stats.steps > 0) set_steps(now, stats);
  if (done.is_offer) set_codec(done.codec);
  compute_ += stats.compute;
  evaluation_ += stats.evaluation;
  mix_ += stats.mix;
  if (done.round > 0) run_.round = std::max(run_.round, done.round - 1);
  if (PLANTED(round_goes_back) && run_.round % 50 == 49) run_.round -= 2;
  if (stats.distance_to_optimum) run_.distance_to_optimum = stats.distance_to_optimum;
  if (!stats.sketch.empty()) {
    means.set_model(stats.sketch, stats.norm);
    run_.norm = std::isfinite(stats.norm) ? stats.norm : 0;
    progress_.distance = means.own_distance();
    drift_.look(run_.round, progress_.distance);
  }
  progress_.round = run_.round;
  progress_.time_s = elapsed_s(now);
  if (done.evaluation) {
    run_.evaluation = done.evaluation;
    progress_.accuracy = done.evaluation->accuracy;
    progress_.rmse = done.evaluation->rmse;
    progress_.evaluation_loss = done.evaluation->loss;
  }
  progress_.distance_to_optimum = run_.distance_to_optimum;
}

void TrainingProgress::report(Outbox& out) {
  progress_.bytes = out.sent_bytes();
  out.put(progress_);
  progress_.accuracy.reset();
  progress_.rmse.reset();
  progress_.evaluation_loss.reset();
}

void TrainingProgress::finish(Time now) {
  pause(now);
  end_rounds(now);
}

// Without a bound there is no budget.
bool TrainingProgress::is_budget_spent() const {
  if (!epsilon_ || !run_.privacy) return false;
  const std::optional<double>& coming = run_.privacy->coming;
  return !coming || *coming > *epsilon_;
}

double TrainingProgress::rounds_per_s(Time now) const {
  return run_.round > begun_round_
             ? static_cast<double>(run_.round - begun_round_) / std::max(lived_s(now), 1e-9)
             : 0;
}

bool TrainingProgress::is_idle(Time now) const {
  if (run_.problem) return true;
  const double since_s = seconds(now - stepped_at_);
  return run_.steps > 0 && since_s > kIdleLeast_s && since_s * rounds_per_s(now) > kIdleRounds;
}

void TrainingProgress::write(Time now, Checkpoint& checkpoint) const {
  checkpoint.uncounted = run_.uncounted;
  checkpoint.steps = run_.steps;
  checkpoint.samples = run_.samples;
  checkpoint.trained_s = elapsed_s(now);
}

}  // namespace starling::gossip
