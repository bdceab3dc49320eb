// Dissemination: spreads rumors. A rumor goes to the members of the fan-out view a bounded number
// of times, the least sent first. With lambda log2(n + 1) sendings to random members every member
// gets a rumor with a probability that grows with n (Das, Gupta, Motivala: SWIM, 2002). From time
// to time the whole table goes to one member, with the news that died out.
//
// When there is more news than messages hold, as while many nodes start at once, two members
// compare digests of all that they know, and each sends the other only what that lacks
// (anti-entropy; Demers et al. 1987). Then a node hears of each member about once, instead of as
// often as of a rumor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/fanout_view.h"
#include "gossip/members/roster.h"
#include "gossip/members/rumor_queue.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Dissemination {
 public:
  // All but `now` outlive this.
  Dissemination(const Timing& timing, const Roster& roster, Prng& prng, Time now);

  // What this node knows of the member, or its own record, is news from now on: its sendings count
  // from zero, even if an equal rumor was sent before.
  void add(NodeId id);
  void forget(NodeId id) { queue_.forget(id); }
  // A node other than the member tells news of it that this node knows already.
  void hear_again(NodeId id);
  // A new member is listed as present.
  void meet(NodeId newcomer);
  // Drops all news but this node's own record.
  void restart();
  // For a message to that member: news, this node's own record, and the member's record if it is
  // suspect or dead here.
  std::vector<Rumor> rumors_for(NodeId to);
  // Answers another member's digest.
  void receive(NodeId from, const Digest& digest, Outbox& out);
  // The whole table. `asks`: the receiver answers with its own.
  Table table(bool asks) const;
  void tick(Time now, Outbox& out);
  Time deadline() const { return std::min(next_table_, next_news_); }

 private:
  // In a crowd, hearing a rumor from another counts as this many sendings. With n nodes that tell
  // it each hears it as often as it sends it, so it stops after 1 / (1 + kHeardWorth) of the
  // sendings. Larger: less traffic. Smaller: fewer members learn of a rumor only by the exchange of
  // tables.
  static constexpr std::int64_t kHeardWorth = 4;

  std::vector<Rumor> take();
  std::int64_t most_tellings() const;
  bool is_crowded() const;
  Digest digest() const;
  void tell(Time now, Outbox& out);
  void exchange_tables(Time now, Outbox& out);

  const Timing& timing_;
  const Roster& roster_;
  Prng& prng_;
  RumorQueue queue_;
  FanoutView fanout_;
  std::size_t burden_ = 1;  // see FanoutView::choose()
  Time next_news_ = kNever;
  Time last_news_;
  Duration table_pause_;  // from next_table_ to the table after it
  Time next_table_;
};

}  // namespace starling::gossip
