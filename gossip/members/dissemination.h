// Dissemination: spreads rumors. A rumor goes to the members of the fan-out view a bounded number
// of times, the least sent first. With lambda log2(n + 1) sendings to random members every member
// gets a rumor with a probability that grows with n (Das, Gupta, Motivala: SWIM, 2002). From time
// to time the whole table goes to one member, with the news that died out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/fanout_view.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Dissemination {
 public:
  // All but `now` outlive this.
  Dissemination(const Timing& timing, const Roster& roster, Prng& prng, Time now);

  // Counts the sendings of the rumor from zero, even if an equal one was sent before. A newer rumor
  // of a member replaces an older one.
  void add(Rumor rumor);
  void forget(NodeId id) { items_.erase(id); }
  // A new member is listed as present.
  void meet(NodeId newcomer);
  // Drops all news but this node's own record.
  void restart();
  // For a message to that member: news, this node's own record, and the member's record if it is
  // suspect or dead here.
  std::vector<Rumor> rumors_for(NodeId to);
  // The whole table. `asks`: the receiver answers with its own.
  Table table(bool asks) const;
  void tick(Time now, Outbox& out);
  Time deadline() const { return std::min(next_table_, next_news_); }

 private:
  struct Item {
    Rumor rumor;
    std::size_t told = 0;
  };
  std::vector<Rumor> take();
  void tell(Time now, Outbox& out);
  void exchange_tables(Time now, Outbox& out);

  const Timing& timing_;
  const Roster& roster_;
  Prng& prng_;
  std::map<NodeId, Item> items_;  // by the member that the rumor is of
  FanoutView fanout_;
  std::size_t burden_ = 1;  // see FanoutView::choose()
  Time next_news_ = kNever;
  Time last_news_;
  Duration table_pause_;  // from next_table_ to the table after it
  Time next_table_;
};

}  // namespace starling::gossip
