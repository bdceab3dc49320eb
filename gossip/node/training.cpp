#include "gossip/node/training.h"

#include <fmt/core.h>

#include <utility>

namespace starling::gossip {

using namespace phases;

namespace {

bool steps_in(std::uint64_t round, const Solitude& solitude, const Links& links) {
  return solitude.may_step() && !rests_in(links.places().turns(), round);
}

// What follows the job that begins after `completed` rounds.
Computing::Then what_follows(std::uint64_t completed, bool is_pause_wanted,
                             const Training::Around& around, bool is_renewal_due) {
  if (around.end.is_over(completed, around.exchange.rounds().uncounted()))
    return Computing::Then::ends;
  if (is_pause_wanted) return Computing::Then::pauses;
  return is_renewal_due ? Computing::Then::renews : Computing::Then::waits;
}

// Whether the model is judged on all samples, as none of the next rounds hurries.
bool rests_after(Computing::Then then) {
  return then == Computing::Then::pauses || then == Computing::Then::ends;
}

}  // namespace

void Training::start(Time now, std::uint64_t round, Outbox& out, const Checkpoint* before) {
  progress_.begin(now, round, before);
  around_.exchange.rounds().start(now, round + 1, before ? before->uncounted : 0);
  // The donor has evaluated an adopted model, and the neighbours wait for an offer.
  if (round > 0) evaluations_.set_judged(round);
  if (round > 0 && !before) solitude_.begin_new();
  begin_round(now, {}, false, out);
}

// ---------------------------------------------------------------- a round

void Training::begin_round(Time now, std::vector<optim::MixTerm> mix, bool absorb, Outbox& out) {
  Exchange& exchange = around_.exchange;
  optim::Job job;
  job.round = exchange.rounds().round();
  job.options = around_.settings.enter(job.round, around_.members, around_.budget, out);
  measure(now, absorb, out);
  if (absorb) progress_.end_rounds(now);
  if (!mix.empty()) solitude_.averaged();
  solitude_.begin_round();
  job.uncounted = exchange.rounds().uncounted();
  progress_.set_uncounted(job.uncounted);
  job.absorb = absorb;
  job.mix = std::move(mix);
  // A newcomer's first offer is soon there: to prepare other data may take long.
  const bool may_step = steps_in(job.round, solitude_, around_.links);
  if (may_step) job.shard = std::exchange(shard_, nullptr);
  job.snapshot = absorb && around_.donor.claim();
  const std::uint64_t completed = job.round - 1;
  Computing round{.then = what_follows(completed, is_pause_wanted_, around_, renewal_.is_due())};
  const bool goes_on = round.then == Computing::Then::waits;
  const bool refits = around_.end.refits(completed, job.uncounted);
  if (!is_relay(options_)) evaluations_.write(now, round.then, refits, job);
  job.keeps = around_.end.kept_rounds();
  job.whole = refits || rests_after(round.then);
  job.target = options_.goal.target();
  job.offer = goes_on;
  exchange.write_edges(job, around_.links, around_.budget);
  job.mask_group = masks_.group();
  const bool steps = goes_on && may_step && !progress_.is_budget_spent();
  job.local = steps && !options_.needs.overlaps;
  job.local_steps = pace_.steps(around_.budget.steps());
  job.pace = static_cast<double>(job.local_steps) / static_cast<double>(around_.budget.steps());
  job.save = absorb && saves(now, completed, round.then == Computing::Then::pauses);
  job.uncounted += around_.end.repeated_rounds(completed, job.uncounted);
  optim::Job step;
  step.round = job.round;
  step.uncounted = job.uncounted;
  step.local = true;
  step.local_steps = job.local_steps;
  step.pace = job.pace;
  step.keeps = job.keeps;
  out.train(std::move(job));
  if (steps && options_.needs.overlaps) {
    out.train(std::move(step));
    round.jobs = 2;
  }
  around_.life.enter(now, round);
}

std::string Training::rest_reason(Time now) const {
  if (solitude_.is_news(now)) return solitude_.reason(now);
  return !lead_.any_trains ? "no node with data trains: this relay rests until one does"
                           : std::string();
}

// Until it is led on, a relay keeps its round open, and a node that hears nobody until it does.
// Once the run is over nobody sends a vector of the round any more.
bool Training::is_round_complete(Time now) {
  if (around_.end.is_over(progress_.run().round, progress_.run().uncounted)) return true;
  const Outcome outcome =
      lead_.is_led ? around_.exchange.outcome(now, around_.links) : Outcome::open;
  if (outcome == Outcome::open)
    solitude_.end();
  else if (solitude_.lets_end(now, outcome == Outcome::heard))
    return true;
  const bool hears_nobody = solitude_.is_alone() || !lead_.is_led;
  if (hears_nobody && renewal_.is_left_behind()) return true;
  const bool rests = solitude_.is_alone() || (!lead_.is_led && !lead_.any_trains);
  return rests && is_pause_wanted_;
}

// A round that a pause cut in two is not measured.
void Training::measure(Time now, bool has_ended, Outbox& out) {
  ExchangeBudget& budget = around_.budget;
  const UnderWay last = std::exchange(under_way_, {.begun = now, .common = budget.steps()});
  if (!has_ended || last.steps == 0) return;
  const WaitMeter& waits = around_.exchange.waits();
  const Duration whole = now - last.begun, exchange = waits.last_exchange() + last.mix;
  std::vector<ExchangeBudget::Edge> edges;
  if (budget.chooses_encodings()) edges = loads_of(around_.exchange.neighbors());
  if (budget.add({.steps = last.common, .whole = whole, .exchange = exchange}, edges))
    out.event(Event::Kind::exchange,
              fmt::format("from the next round on {}", budget.encodings_text()));
  const Duration busy = std::min(whole, exchange + last.compute);
  if (pace_.add({.common = last.common,
                 .steps = last.steps,
                 .compute = last.compute,
                 .idle = whole - busy}))
    out.event(Event::Kind::exchange,
              fmt::format("from this round on {} local steps, as fit while slower nodes compute",
                          pace_.steps(budget.steps())));
}

void Training::trained(Time now, optim::Done done, Outbox& out) {
  Exchange& exchange = around_.exchange;
  const Errand errand = around_.life.end_errand();
  Computing* const round = around_.life.in<Computing>();
  const bool is_aside = errand == Errand::copy || errand == Errand::renew;
  if (is_aside || (errand == Errand::none && !round)) return;
  if (errand == Errand::unite) {
    around_.settlement.done(now, done, out);
    done.problem.reset();
  }
  exchange.note(now, done);
  under_way_.mix += done.stats.mix;
  under_way_.compute += done.stats.compute;
  if (done.evaluation) evaluations_.add(now, done.stats.evaluation);
  if (done.stats.steps > 0) under_way_.steps = done.stats.steps;
  progress_.record(now, done, exchange.means(), out);
  if (errand == Errand::unite) return;
  if (errand == Errand::answer) return exchange.answer(now, done, around_.links, out);
  if (done.is_offer) exchange.offer(now, done, around_.links, out);
  if (round && --round->jobs > 0) return;
  progress_.report(out);
  if (round) end_round(now, round->then, out);
}

void Training::end_round(Time now, Computing::Then then, Outbox& out) {
  const RunStatus& run = progress_.run();
  if (then == Computing::Then::ends) {
    progress_.finish(now);
    closing_.begin(now, out);
  } else if (then == Computing::Then::pauses) {
    progress_.pause(now);
    around_.life.enter(now, Paused());
    around_.exchange.rest(true);
    out.event(Event::Kind::paused, fmt::format("paused after round {}", run.round));
  } else if (then == Computing::Then::renews) {
    renewal_.begin(now, out);
  } else {
    around_.life.enter(now, Waiting());
  }
}

// ---------------------------------------------------------------- between rounds

void Training::advance(Time now, Outbox& out) {
  const Life& life = around_.life;
  if (!life.has_come_to<Waiting>() || !life.is_free()) return;
  if (life.has_come_to<Ending>()) closing_.advance(now, out);
  if (!life.is_free()) return;
  if (!life.is_in<Waiting>() || solitude_.is_alone()) begin_copy(now, out);
  if (!life.is_free() || life.has_come_to<Ending>()) return;
  if (life.is_in<Paused>()) {
    leave_pause(now, out);
  } else if (life.is_in<Renewing>()) {
    if (renewal_.advance(now, out)) begin_round(now, {}, false, out);
  } else if (auto answer = around_.exchange.begin_answer(now, around_.links, around_.budget)) {
    answer->mask_group = masks_.group();
    if (!answer->mix.empty()) solitude_.averaged();
    run(Errand::answer, *std::move(answer), out);
  } else if (is_round_complete(now)) {
    begin_round(now, around_.exchange.finish_round(now, around_.links, out), true, out);
  }
}

// The last round before the pause is absorbed already.
void Training::leave_pause(Time now, Outbox& out) {
  if (around_.end.is_over(progress_.run().round, progress_.run().uncounted))
    return closing_.begin(now, out);
  if (is_pause_wanted_) return;
  progress_.go_on(now);
  around_.exchange.rest(false);
  out.event(Event::Kind::resumed, fmt::format("resumed after round {}", progress_.run().round));
  begin_round(now, {}, false, out);
}

void Training::run(Errand errand, optim::Job job, Outbox& out) {
  around_.life.run(errand);
  out.train(std::move(job));
}

void Training::begin_copy(Time now, Outbox& out) {
  if (!around_.donor.claim()) {
    if (!around_.life.is_in<Waiting>()) begin_checkpoint(now, out);
    return;
  }
  optim::Job job;
  job.round = around_.exchange.rounds().round();
  job.snapshot = true;
  run(Errand::copy, std::move(job), out);
}

void Training::begin_checkpoint(Time now, Outbox& out) {
  const std::uint64_t round = progress_.run().round;
  if (!around_.saver.is_due_at_rest(now, round)) return;
  around_.saver.begin(now, checkpoint_of(now, round));
  optim::Job job;
  job.round = round + 1;
  job.save = true;
  run(Errand::copy, std::move(job), out);
}

// Whether the job that begins after `round` copies the state.
bool Training::saves(Time now, std::uint64_t round, bool rests) {
  if (!around_.saver.is_due(now, round, rests)) return false;
  around_.saver.begin(now, checkpoint_of(now, round));
  return true;
}

Checkpoint Training::checkpoint_of(Time now, std::uint64_t round) const {
  Checkpoint checkpoint;
  checkpoint.round = round;
  checkpoint.sealed = around_.settlement.sealed();
  progress_.write(now, checkpoint);
  checkpoint.exchange = around_.exchange.memory(around_.links);
  checkpoint.changes = around_.settings.changes();
  return checkpoint;
}

void Training::save_last(Time now, Outbox& out) {
  const Life& life = around_.life;
  if (life.has_come_to<Waiting>() && life.is_free()) begin_checkpoint(now, out);
}

Time Training::deadline() const {
  const Life& life = around_.life;
  const bool waits =
      life.is_in<Waiting>() && life.is_free() && lead_.is_led && !solitude_.is_alone();
  return waits ? around_.exchange.deadline(around_.links) : renewal_.deadline();
}

}  // namespace starling::gossip
