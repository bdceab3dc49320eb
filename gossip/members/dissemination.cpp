#include "gossip/members/dissemination.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

// Rumors in one message, besides those of sender and receiver. If more are queued, digests are
// compared too. Larger: longer messages. Smaller: rumors of many members take longer.
constexpr std::size_t kRumorsLimit = 32;
// Sending a digest counts as this many sendings of each rumor: a rumor reaches all of n members by
// about log2 n comparisons of each. Larger: some rumors reach some members only by push-pull.
// Smaller: more digests.
constexpr std::int64_t kDigestWorth = 3;
// The first pause between push-pulls is 1/kFirstExchangeShare of the usual one, and doubles up to
// it. When many nodes join at once, most nodes know a member from their first table and do not pass
// it on, so the rumor of a member may die out before reaching all nodes.
constexpr int kFirstExchangeShare = 16;
// A rumor is sent kTellings * log2(members + 1) times. Larger: a member is less likely to miss a
// rumor. Smaller: less traffic when many nodes join at once.
constexpr std::size_t kTellings = 4;
// Hidden members, which no node can dial, send each other nothing: members that can be dialled send
// to them instead, up to kBurdenLimit times as much as usual. Larger: a single such node sends more
// at once. Smaller: rumors reach some of many hidden members only by push-pull.
constexpr std::size_t kBurdenLimit = 16;

// How many times as much as usual this node sends: more only if it can be dialled.
std::size_t burden_of(const Roster& roster) {
  if (is_hidden(roster.own())) return 1;
  const std::size_t hidden = roster.counts().hidden;
  return std::min(1 + hidden / (roster.present_count() - hidden), kBurdenLimit);
}

}  // namespace

Dissemination::Dissemination(const Timing& timing, const Roster& roster, Prng& prng, Time now)
    : timing_(timing),
      roster_(roster),
      prng_(prng),
      last_news_(now - timing.news),
      table_pause_(timing.exchange / kFirstExchangeShare),
      next_table_(now + table_pause_) {}

void Dissemination::add(NodeId id) {
  queue_.add(id);
  next_news_ = std::min(next_news_, last_news_ + timing_.news);
}

// Few rumors are sent often, because messages may be lost; of many, receivers know most already.
void Dissemination::hear_again(NodeId id) {
  if (is_crowded()) queue_.count(id, kHeardWorth);
}

void Dissemination::meet(NodeId newcomer) {
  const bool is_in_reach = can_meet(roster_.own(), *roster_.find(newcomer));
  const std::size_t hidden = is_hidden(roster_.own()) ? roster_.counts().hidden : 0;
  if (is_in_reach) fanout_.meet(newcomer, roster_.present_others().size() - hidden, prng_);
}

void Dissemination::restart() {
  queue_.clear();
  add(roster_.self());
}

std::vector<Rumor> Dissemination::rumors_for(NodeId to) {
  std::vector<Rumor> rumors = take();
  if (const Roster::Entry* entry = roster_.entry(to); entry && entry->liveness != Liveness::alive)
    rumors.push_back({entry->member, entry->liveness, roster_.self()});
  rumors.push_back({roster_.own_record()});
  return rumors;
}

// Counts the returned rumors as sent. This node's own record, which ends each message, is not one.
std::vector<Rumor> Dissemination::take() {
  std::vector<Rumor> rumors;
  for (const NodeId id : queue_.take(kRumorsLimit, most_tellings()))
    if (const Roster::Entry* entry = roster_.entry(id)) rumors.push_back(roster_.rumor_of(*entry));
  return rumors;
}

std::int64_t Dissemination::most_tellings() const {
  const std::size_t members = roster_.others().size() + 1;
  return static_cast<std::int64_t>(kTellings * burden_ *
                                   static_cast<std::size_t>(std::bit_width(members)));
}

bool Dissemination::is_crowded() const {
  return queue_.size() > kRumorsLimit;
}

Digest Dissemination::digest() const {
  Digest digest{false, roster_.marks()};
  digest.marks.push_back(mark_of(roster_.own(), Liveness::alive));
  return digest;
}

void Dissemination::receive(NodeId from, const Digest& digest, Outbox& out) {
  Marks marks(digest.marks);
  Table table{false, {{roster_.own_record()}}};
  const bool has_own = marks.strike(mark_of(roster_.own(), Liveness::alive));
  for (std::size_t place = 0; place < roster_.marks().size(); ++place)
    if (marks.strike(roster_.marks()[place]) == digest.wants)
      table.rumors.push_back(roster_.rumor_of(*roster_.others()[place]));
  if (table.rumors.size() > 1 || has_own == digest.wants) out.send(from, std::move(table));
  if (digest.wants) return;
  if (table.rumors.size() == 1) queue_.count_all(kHeardWorth, most_tellings());
  if (std::vector<std::uint64_t> lacked = marks.rest(); !lacked.empty())
    out.send(from, Digest{true, std::move(lacked)});
}

Table Dissemination::table(bool asks) const {
  std::vector<Rumor> rumors{{roster_.own_record()}};
  rumors.reserve(roster_.others().size() + 1);
  for (const auto& entry : roster_.others()) rumors.push_back(roster_.rumor_of(*entry));
  return {asks, std::move(rumors)};
}

void Dissemination::tick(Time now, Outbox& out) {
  if (now >= next_table_) exchange_tables(now, out);
  if (now >= next_news_) tell(now, out);
}

void Dissemination::exchange_tables(Time now, Outbox& out) {
  const bool is_early = table_pause_ < timing_.exchange;
  table_pause_ = std::min(table_pause_ * 2, timing_.exchange);
  next_table_ = now + table_pause_;
  const std::vector<NodeId> others = within_reach(roster_);
  if (others.empty()) return;
  const NodeId other = others[prng_.below(others.size())];
  if (is_early && others.size() > kRumorsLimit)
    out.send(other, digest());
  else
    out.send(other, table(true));
}

void Dissemination::tell(Time now, Outbox& out) {
  last_news_ = now;
  burden_ = burden_of(roster_);
  const std::vector<NodeId> listeners = fanout_.choose(within_reach(roster_), prng_, burden_);
  for (NodeId listener : listeners)
    for (int told = 0; told < (PLANTED(news_repeated) ? 400 : 1); ++told)
      if (auto rumors = rumors_for(listener); !rumors.empty())
        out.send(listener, Gossip{std::move(rumors)});
  if (is_crowded() && !listeners.empty()) {
    out.send(listeners.front(), digest());
    queue_.count_all(kDigestWorth, most_tellings());
  }
  next_news_ = queue_.empty() || listeners.empty() ? kNever : now + timing_.news;
}

}  // namespace starling::gossip
