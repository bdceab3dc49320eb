#include "gossip/node/training.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {

void Training::start(Time now, std::uint64_t round, Exchange& exchange, const Links& links,
                     Outbox& out, const Checkpoint* before) {
  started_ = true;
  if (before) {
    run_.steps = before->steps;
    run_.samples = before->samples;
    before_s_ = before->trained_s;
  }
  started_at_ = now;
  started_round_ = round;
  run_.round = round;
  exchange.rounds().start(now, round + 1, before ? before->uncounted : 0);
  // An adopted model was evaluated by its donor, and the neighbours wait for an offer.
  if (round > 0) evaluated_round_ = round;
  begin_round(now, {}, false, exchange, links, out);
}

void Training::want_snapshot(Donor& donor, Exchange& exchange, Outbox& out) {
  if (started_ && donor.claim()) snapshot_wanted_ = true;
  const bool is_idle = (finished_ || is_paused_) && jobs_in_flight_ == 0;
  if (!is_idle || !std::exchange(snapshot_wanted_, false)) return;
  optim::Job job;
  job.round = exchange.rounds().round();
  job.snapshot = true;
  copies_ = true;
  jobs_in_flight_ = 1;
  out.train(std::move(job));
}

void Training::want_checkpoint(Time now, const Exchange& exchange, const Links& links, Outbox& out,
                               bool ends) {
  if (saver_) saver_->tick(now, out);
  const bool rests = started_ && jobs_in_flight_ == 0 && (ends || finished_ || is_paused_);
  if (!saver_ || !rests || !saver_->is_due_at_rest(now, run_.round)) return;
  optim::Job job;
  job.round = run_.round + 1;
  job.save = true;
  copies_ = true;
  jobs_in_flight_ = 1;
  saver_->begin(now, checkpoint_of(now, run_.round, exchange, links));
  out.train(std::move(job));
}

Checkpoint Training::checkpoint_of(Time now, std::uint64_t round, const Exchange& exchange,
                                   const Links& links) const {
  Checkpoint checkpoint;
  checkpoint.round = round;
  checkpoint.uncounted = run_.uncounted;
  checkpoint.steps = run_.steps;
  checkpoint.samples = run_.samples;
  checkpoint.trained_s = elapsed_s(now);
  checkpoint.exchange = exchange.memory(links);
  return checkpoint;
}

// Whether the job that begins behind `round` copies the state.
bool Training::begins_checkpoint(Time now, std::uint64_t round, bool rests,
                                 const Exchange& exchange, const Links& links) {
  if (!saver_ || !saver_->is_due(now, round, rests)) return false;
  saver_->begin(now, checkpoint_of(now, round, exchange, links));
  return true;
}

void Training::set_workload(const optim::Workload& workload) {
  run_.shard_samples = workload.shard_samples;
  run_.shard_description = workload.shard_description;
}

void Training::begin_round(Time now, std::vector<optim::MixTerm> mix, bool absorb,
                           Exchange& exchange, const Links& links, Outbox& out) {
  measure(now, absorb, exchange);
  optim::Job job;
  job.round = exchange.rounds().round();
  job.uncounted = run_.uncounted = exchange.rounds().uncounted();
  job.absorb = absorb;
  job.mix = std::move(mix);
  job.edges = links.edge_ids();
  job.shard = std::exchange(shard_, nullptr);
  job.snapshot = std::exchange(snapshot_wanted_, false);
  const std::uint64_t completed = job.round - 1;
  last_round_ = (options_.goal.rounds > 0 && completed >= last_round()) ||
                (options_.goal.seconds > 0 && elapsed_s(now) >= options_.goal.seconds);
  pauses_ = pause_wanted_ && !last_round_;
  const bool goes_on = !last_round_ && !pauses_;
  const std::uint64_t due = evaluated_round_.value_or(0) + (goes_on ? options_.evaluate_every : 1);
  job.evaluate = last_round_ || !evaluated_round_ || completed >= due;
  if (job.evaluate) evaluated_round_ = completed;
  job.offer = goes_on;
  job.local = goes_on && !options_.needs.overlaps;
  job.local_steps = chosen_steps();
  job.save = absorb && begins_checkpoint(now, completed, !goes_on, exchange, links);
  offered_ = false;
  jobs_in_flight_ = 1;
  optim::Job step;
  step.round = job.round;
  step.uncounted = job.uncounted;
  out.train(std::move(job));
  if (!goes_on || !options_.needs.overlaps) return;
  step.local = true;
  ++jobs_in_flight_;
  out.train(std::move(step));
}

// What the round under way took, and that the next one begins. One that a pause cut in two is not
// measured.
void Training::measure(Time now, bool has_ended, const Exchange& exchange) {
  const auto [begun, steps, mix] = std::exchange(under_way_, {now, 0, Duration{}});
  if (pace_ && has_ended && steps > 0)
    pace_->add(steps, now - begun, exchange.waits().last_exchange() + mix);
}

void Training::begin_answer(Exchange& exchange, const Links& links, Outbox& out) {
  optim::Job job;
  job.round = exchange.rounds().round();
  job.absorb = true;
  job.mix = exchange.take_pairs();
  job.edges = links.edge_ids();
  job.offer = true;
  answers_ = true;
  jobs_in_flight_ = 1;
  out.train(std::move(job));
}

void Training::trained(Time now, optim::Done done, Exchange& exchange, const Links& links,
                       Outbox& out) {
  if (jobs_in_flight_ == 0) return;
  --jobs_in_flight_;
  if (std::exchange(copies_, false)) return;
  if (done.workload) set_workload(*done.workload);
  exchange.note(now, done);
  const bool was_well = !problem_;
  record(now, done, exchange);
  if (was_well && problem_) out.event(Event::Kind::problem, *problem_);
  if (std::exchange(answers_, false))
    return exchange.answer(now, std::move(done.offer), links, out);
  if (done.is_offer) {
    exchange.offer(now, done, links, out);
    offered_ = true;
  }
  if (jobs_in_flight_ > 0) return;
  report(out);
  end_round(now, exchange, out);
}

void Training::end_round(Time now, Exchange& exchange, Outbox& out) {
  if (last_round_ || goal_reached()) {
    finished_ = true;
    run_.shortfall = shortfall();
    run_.goal_reached = run_.shortfall.empty();
    exchange.rest(true);
    const std::string but = run_.goal_reached ? "" : ", short of the goal: " + run_.shortfall;
    out.event(Event::Kind::finished, fmt::format("finished after round {}{}", run_.round, but));
  } else if (std::exchange(pauses_, false)) {
    is_paused_ = true;
    paused_at_ = now;
    exchange.rest(true);
    out.event(Event::Kind::paused, fmt::format("paused after round {}", run_.round));
  }
}

void Training::record(Time now, const optim::Done& done, Exchange& exchange) {
  const optim::Stats& stats = done.stats;
  run_.steps += stats.steps;
  run_.samples += stats.samples;
  under_way_.mix += stats.mix;
  if (stats.steps > 0) {
    run_.local_steps = under_way_.steps = stats.steps;
    if (std::isfinite(stats.loss)) run_.loss = progress_.loss = stats.loss;
    run_.learning_rate = stats.learning_rate;
    problem_ = done.problem;
  } else if (done.problem) {
    problem_ = done.problem;
  }
  compute_ += stats.compute;
  mix_ += stats.mix;
  if (done.round > 0) run_.round = std::max(run_.round, done.round - 1);
  if (PLANTED(round_goes_back) && run_.round % 50 == 49) run_.round -= 2;
  if (stats.distance_to_optimum) run_.distance_to_optimum = stats.distance_to_optimum;
  if (done.evaluation) run_.evaluation = done.evaluation;
  if (!stats.sketch.empty()) {
    exchange.means().set_model(stats.sketch, stats.norm);
    distance_ = exchange.means().own_distance();
  }
  progress_.round = run_.round;
  progress_.time_s = elapsed_s(now);
  if (done.evaluation) {
    progress_.accuracy = done.evaluation->accuracy;
    progress_.rmse = done.evaluation->rmse;
    progress_.evaluation_loss = done.evaluation->loss;
  }
  progress_.distance = distance_;
  progress_.distance_to_optimum = run_.distance_to_optimum;
}

void Training::report(Outbox& out) {
  progress_.bytes = out.sent_bytes();
  out.put(progress_);
  progress_.accuracy.reset();
  progress_.rmse.reset();
  progress_.evaluation_loss.reset();
}

bool Training::goal_reached() const {
  const Goal& goal = options_.goal;
  if (!run_.evaluation || run_.evaluation->round != run_.round) return false;
  const auto& evaluation = *run_.evaluation;
  if (goal.accuracy && evaluation.accuracy && *evaluation.accuracy >= *goal.accuracy) return true;
  return goal.loss && evaluation.loss <= *goal.loss;
}

// Rounds whose steps were refused are counted, but do not reach the goal.
std::string Training::shortfall() const {
  if (goal_reached()) return {};
  const Goal& goal = options_.goal;
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (goal.accuracy && run_.evaluation && run_.evaluation->accuracy)
    add(fmt::format("accuracy {:.4g} is below stop.accuracy = {}", *run_.evaluation->accuracy,
                    *goal.accuracy));
  if (goal.loss && run_.evaluation)
    add(fmt::format("loss {:.4g} is above stop.loss = {}", run_.evaluation->loss, *goal.loss));
  if (problem_) add(fmt::format("the last steps were refused: {}", *problem_));
  return text;
}

void Training::advance(Time now, Exchange& exchange, const Links& links, Outbox& out) {
  if (!started_ || finished_ || jobs_in_flight_ > 0) return;
  if (is_paused_ && !pause_wanted_) return go_on(now, exchange, links, out);
  if (is_paused_ || !offered_) return;
  if (exchange.is_asked(links)) return begin_answer(exchange, links, out);
  if (!exchange.complete(now, links)) return;
  begin_round(now, exchange.finish_round(now, links, out), true, exchange, links, out);
}

// The round that the pause ended has been absorbed: what is left of the next one's job is to offer.
void Training::go_on(Time now, Exchange& exchange, const Links& links, Outbox& out) {
  is_paused_ = false;
  paused_ += now - paused_at_;
  exchange.rest(false);
  out.event(Event::Kind::resumed, fmt::format("resumed after round {}", run_.round));
  begin_round(now, {}, false, exchange, links, out);
}

double Training::lived_s(Time now) const {
  return seconds((is_paused_ ? paused_at_ : now) - started_at_ - paused_);
}

bool Training::wind_up(Exchange& exchange, Outbox& out) {
  if (!started_ || finished_) return true;
  if (jobs_in_flight_ > 0) return false;
  if (!exchange.sessions().has_pairs()) return exchange.sessions().is_settled();
  optim::Job job;
  job.round = exchange.rounds().round() + 1;
  job.absorb = true;
  job.mix = exchange.take_pairs();
  jobs_in_flight_ = 1;
  out.train(std::move(job));
  return false;
}

std::optional<double> Training::remaining_s(Time now) const {
  const double elapsed = elapsed_s(now);
  const auto rounds = static_cast<double>(run_.round - std::min(run_.round, started_round_));
  std::optional<double> remaining;
  if (!started_ || finished_ || is_paused_) return remaining;
  if (options_.goal.seconds > 0) remaining = std::max(0.0, options_.goal.seconds - elapsed);
  if (options_.goal.rounds > 0 && last_round() > run_.round && rounds > 0) {
    const double left = static_cast<double>(last_round() - run_.round) * lived_s(now) / rounds;
    remaining = std::min(remaining.value_or(left), left);
  }
  return remaining;
}

Time Training::deadline(const Exchange& exchange, const Links& links) const {
  const bool waiting = started_ && !finished_ && !is_paused_ && jobs_in_flight_ == 0 && offered_;
  return waiting ? exchange.deadline(links) : kNever;
}

}  // namespace starling::gossip
