#include "gossip/node/closing.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

using namespace phases;

// How long the end waits until both ends of every edge have averaged the same pairs. Larger: a node
// beside a dead neighbour ends later. Smaller: where much is lost, the mean of the fleet changes.
constexpr Duration kPairsLimit = std::chrono::seconds(3);

}  // namespace

void Closing::begin(Time now, Outbox& out) {
  around_.life.enter(now, Ending());
  around_.exchange.rest(true);
  around_.exchange.sessions().close_all(now, out);
}

void Closing::advance(Time now, Outbox& out) {
  Life& life = around_.life;
  Settlement& settlement = around_.settlement;
  if (life.is_in<Ending>()) {
    if (!std::exchange(is_told_, true))
      out.event(Event::Kind::ending,
                fmt::format("the run ends after round {}: {}", around_.progress.run().round,
                            around_.end.reason()));
    const bool is_settled = average_last_pairs(out) || now >= life.since() + kPairsLimit;
    if (!is_settled || !life.is_free()) return;
    life.enter(now, Settling());
    settlement.begin(now);
  }
  if (auto job = settlement.take_job()) return run(Errand::unite, *std::move(job), out);
  const bool has_ended = settlement.sealed() != 0 || !settlement.problem().empty();
  if (life.is_in<Settling>() && has_ended) life.enter(now, Sealing());
  if (!life.is_in<Sealing>() || !settlement.is_over()) return;
  life.enter(now, Finished());
  around_.saver.want();
  out.event(Event::Kind::finished, settlement.sealed() == 0
                                       ? "finished with a model of its own"
                                       : "finished with one model, " + to_text(settlement.model()));
  out.put(MayEnd{});
}

// The evaluation is of the model with which the run ends. After a refit nothing is held out.
void Closing::run(Errand errand, optim::Job job, Outbox& out) {
  if (job.round == 0) job.round = around_.progress.run().round + 1;
  if (PLANTED(steps_after_end) && job.tally) job.local = true;
  if (job.seal) {
    job.seal->within = distance_within();
    const RunStatus& run = around_.progress.run();
    const bool has_refit = around_.end.refits(run.round, run.uncounted);
    job.evaluate = job.whole = !is_relay(around_.options) && !has_refit;
  }
  around_.life.run(errand);
  out.train(std::move(job));
}

// How far the model of the end may lie from this node's: some times as far as neighbours' models
// lay, and as the mean of all was estimated to lie; where none of that is known, as at a newcomer,
// some times as far as the own model is long. Larger: a false model may be farther. Smaller: a node
// at the end of a long path refuses the mean.
double Closing::distance_within() const {
  constexpr double kTimes = 8, kRounding = 1e-5;
  const TrainingProgress& progress = around_.progress;
  double farthest = progress.consensus_distance().value_or(0) * progress.run().norm;
  for (const auto& [id, neighbor] : around_.exchange.neighbors().all())
    farthest = std::max(farthest, neighbor.status.distance.value_or(0));
  const double norm = progress.run().norm;
  if (farthest == 0) farthest = norm;
  if (farthest == 0 || PLANTED(seals_unseen)) return std::numeric_limits<double>::infinity();
  return kTimes * farthest + kRounding * norm;
}

bool Closing::wind_up(Outbox& out) {
  const Life& life = around_.life;
  if (!life.has_come_to<Computing>() || life.has_come_to<Settling>()) return true;
  return life.is_free() && average_last_pairs(out);
}

// Whether nothing is left to average.
bool Closing::average_last_pairs(Outbox& out) {
  Exchange& exchange = around_.exchange;
  if (!exchange.sessions().has_pairs()) return exchange.sessions().is_settled(around_.members);
  optim::Job job;
  if (!around_.life.has_come_to<Ending>()) job.round = exchange.rounds().round() + 1;
  job.absorb = true;
  job.ending = exchange.sessions().ending();
  job.mask_group = around_.masks.group();
  job.mix = exchange.take_pairs();
  run(Errand::settle, std::move(job), out);
  return false;
}

}  // namespace starling::gossip
