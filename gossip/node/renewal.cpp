#include "gossip/node/renewal.h"

#include <algorithm>

namespace starling::gossip {
namespace {

using phases::Renewing;

// How long it waits until both ends of every edge have averaged the same pairs, and for the edges
// to open again. Larger: a node beside a dead neighbour, or beside one that is rounds behind, goes
// on later. Smaller: where much is lost, the mean of the fleet changes, and the first round lacks
// neighbours.
constexpr Duration kPairsLimit = std::chrono::seconds(3);
constexpr Duration kOpeningLimit = std::chrono::seconds(1);

}  // namespace

void Renewal::begin(Time now, Outbox& out) {
  around_.life.enter(now, Renewing());
  around_.exchange.rest(true);
  around_.exchange.sessions().close_all(now, out);
}

bool Renewal::advance(Time now, Outbox& out) {
  Life& life = around_.life;
  if (const auto renewed = life.in<Renewing>()->renewed) {
    const auto is_open = [](const auto& item) { return item.second.active; };
    if (!is_left_behind() && !std::ranges::all_of(around_.links.all(), is_open) &&
        now < *renewed + kOpeningLimit)
      return false;
    around_.exchange.rest(false);
    return true;
  }
  if (!around_.closing.wind_up(out) && now < life.since() + kPairsLimit) return false;
  if (!life.is_free()) return false;
  optim::Job job;
  job.round = around_.exchange.rounds().round();
  job.anew = true;
  if (around_.settings.needs_renewal()) job.options = around_.settings.renew(around_.budget, out);
  around_.exchange.renew();
  around_.links.shut(out);
  life.in<Renewing>()->renewed = now;
  life.run(Errand::renew);
  out.train(std::move(job));
  return false;
}

Time Renewal::deadline() const {
  const Life& life = around_.life;
  const auto* renewing = std::get_if<Renewing>(&life.phase());
  if (!renewing || !life.is_free()) return kNever;
  return renewing->renewed ? *renewing->renewed + kOpeningLimit : life.since() + kPairsLimit;
}

}  // namespace starling::gossip
