// Renewal: between two rounds, what the edges of a node carry becomes another: the algorithm, the
// codec, the schedule (form_of()); or an edge has closed over which sums went (Needs::sums). All
// edges close, and their last pairs are averaged at both ends, so that the mean of the fleet stays;
// the trainer begins its algorithm anew from its model; the edges open again, and the next round
// begins. Edges between nodes of which one is renewed and the other not yet stay closed.
#pragma once

#include "base/time.h"
#include "gossip/edges/exchange.h"
#include "gossip/edges/exchange_budget.h"
#include "gossip/edges/links.h"
#include "gossip/node/closing.h"
#include "gossip/node/life.h"
#include "gossip/node/setting_log.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Renewal {
 public:
  // The other parts of the node, which outlive it.
  struct Around {
    const Roster& members;
    Life& life;
    Exchange& exchange;
    Links& links;
    SettingLog& settings;
    ExchangeBudget& budget;
    Closing& closing;
  };
  explicit Renewal(const Around& around) : around_(around) {}

  bool is_due() const { return around_.settings.needs_renewal() || around_.links.must_shut(); }
  // Whether the edges of other members were renewed, or changed, without this node.
  bool is_left_behind() const {
    return around_.links.must_shut() || around_.settings.has_other_edges(around_.members);
  }
  // The round before the renewal has ended.
  void begin(Time now, Outbox& out);
  // Goes on. Returns whether the next round may begin. REQUIRES phase renewing, and that the node
  // is free. May begin an errand.
  bool advance(Time now, Outbox& out);
  // When advance() goes on by time alone.
  Time deadline() const;

 private:
  Around around_;
};

}  // namespace starling::gossip
