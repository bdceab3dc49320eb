// Dissemination: spreads rumors. A rumor is sent to members of the fan-out view a bounded number of
// times, the least sent rumors first. With lambda log2(n + 1) sendings to random members every
// member gets a rumor with a probability that grows with n (Das, Gupta, Motivala: SWIM, 2002). From
// time to time two members exchange their whole tables (push-pull), with the rumors that died out.
//
// When more rumors are queued than a message holds, as while many nodes start at once, two members
// compare digests of all that they know, and each sends only what the other lacks (anti-entropy;
// Demers et al. 1987). A node then receives each record about once, not as often as a rumor.
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

  // Queues the rumor of the member, or of this node. Its sendings count from zero, even if an equal
  // rumor was sent before.
  void add(NodeId id);
  void forget(NodeId id) { queue_.forget(id); }
  // A known rumor of the member was received again, from a node other than the member.
  void hear_again(NodeId id);
  // A new member is listed as present.
  void meet(NodeId newcomer);
  // Drops all queued rumors but this node's own record.
  void restart();
  // The rumors for a message to that member: queued ones, the member's record if it is not alive
  // here, and last this node's own record.
  std::vector<Rumor> rumors_for(NodeId to);
  // Answers another member's digest.
  void receive(NodeId from, const Digest& digest, Outbox& out);
  // The whole table. `asks`: the receiver answers with its own.
  Table table(bool asks) const;
  void tick(Time now, Outbox& out);
  Time deadline() const { return std::min(next_table_, next_news_); }

 private:
  // If more rumors are queued than a message holds, receiving a known one counts as this many
  // sendings. A node receives a rumor about as often as it sends it, so 1/(1 + kHeardWorth) of the
  // sendings remain. Larger: less traffic. Smaller: fewer rumors need push-pull.
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
  Duration table_pause_;  // from next_table_ to the push-pull after it
  Time next_table_;
};

}  // namespace starling::gossip
