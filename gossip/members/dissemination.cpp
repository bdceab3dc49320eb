#include "gossip/members/dissemination.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace starling::gossip {
namespace {

// Rumors in one message, besides those of sender and receiver: at most kRumorsLimit, or one for
// every kRumorsShare members if that is more.
constexpr std::size_t kRumorsLimit = 32, kRumorsShare = 4;
// The first pause between exchanges of tables is this part of the usual one, and doubles up to it.
// When many nodes join at once, most nodes know a member from their first table and do not pass it
// on, so the news of a member may die out before reaching all nodes.
constexpr int kFirstExchangeShare = 16;
// A rumor is sent kTellings * log2(members + 1) times. Larger: a member is less likely to miss a
// rumor. Smaller: less traffic when many nodes join at once.
constexpr std::size_t kTellings = 4;
// Members that nobody can dial tell each other nothing: those that can be dialled tell them in
// their place, at most so many times as much as else. Larger: a single such node sends more at
// once. Smaller: among many the news reach some only by the exchange of tables.
constexpr std::size_t kBurdenLimit = 16;

// Of one of the members that can be dialled, if this node is.
std::size_t burden_of(const Roster& roster) {
  if (is_hidden(roster.own())) return 1;
  const auto& others = roster.present_others();
  const auto hidden = static_cast<std::size_t>(
      std::ranges::count_if(others, [](const Member* member) { return is_hidden(*member); }));
  return std::min(1 + hidden / (others.size() + 1 - hidden), kBurdenLimit);
}

}  // namespace

Dissemination::Dissemination(const Timing& timing, const Roster& roster, Prng& prng, Time now)
    : timing_(timing),
      roster_(roster),
      prng_(prng),
      last_news_(now - timing.news),
      table_pause_(timing.exchange / kFirstExchangeShare),
      next_table_(now + table_pause_) {}

void Dissemination::add(Rumor rumor) {
  items_[rumor.member.id] = {std::move(rumor), 0};
  next_news_ = std::min(next_news_, last_news_ + timing_.news);
}

void Dissemination::meet(NodeId newcomer) {
  const std::vector<const Member*> others = roster_.within_reach();
  if (std::ranges::find(others, newcomer, &Member::id) != others.end())
    fanout_.meet(newcomer, others.size(), prng_);
}

void Dissemination::restart() {
  items_.clear();
  add({roster_.own()});
}

std::vector<Rumor> Dissemination::rumors_for(NodeId to) {
  std::vector<Rumor> rumors = take();
  if (const Roster::Entry* entry = roster_.entry(to); entry && entry->liveness != Liveness::alive)
    rumors.push_back({entry->member, entry->liveness, roster_.self()});
  rumors.push_back({roster_.own()});
  return rumors;
}

// Counts the rumors returned as sent. Without this node's own, which each message ends with.
std::vector<Rumor> Dissemination::take() {
  const std::size_t members = roster_.others().size() + 1;
  const std::size_t limit = std::max(kRumorsLimit, members / kRumorsShare);
  std::vector<Item*> order;
  for (auto& [id, item] : items_) order.push_back(&item);
  const auto count = static_cast<std::ptrdiff_t>(std::min(order.size(), limit));
  std::ranges::partial_sort(order, order.begin() + count, {}, [](const Item* item) {
    return std::pair(item->told, item->rumor.member.id);
  });
  order.resize(static_cast<std::size_t>(count));
  std::vector<Rumor> rumors;
  for (Item* item : order) {
    if (item->rumor.member.id != roster_.self()) rumors.push_back(item->rumor);
    ++item->told;
  }
  const std::size_t most = kTellings * burden_ * static_cast<std::size_t>(std::bit_width(members));
  std::erase_if(items_, [&](const auto& entry) { return entry.second.told >= most; });
  return rumors;
}

Table Dissemination::table(bool asks) const {
  std::vector<Rumor> rumors{{roster_.own()}};
  for (const auto& [id, entry] : roster_.others()) rumors.push_back(roster_.rumor_of(entry));
  return {asks, std::move(rumors)};
}

void Dissemination::tick(Time now, Outbox& out) {
  if (now >= next_table_) exchange_tables(now, out);
  if (now >= next_news_) tell(now, out);
}

void Dissemination::exchange_tables(Time now, Outbox& out) {
  table_pause_ = std::min(table_pause_ * 2, timing_.exchange);
  next_table_ = now + table_pause_;
  const std::vector<const Member*> others = roster_.within_reach();
  if (!others.empty()) out.send(others[prng_.below(others.size())]->id, table(true));
}

void Dissemination::tell(Time now, Outbox& out) {
  last_news_ = now;
  burden_ = burden_of(roster_);
  const std::vector<NodeId> listeners = fanout_.choose(roster_.within_reach(), prng_, burden_);
  for (NodeId listener : listeners)
    if (auto rumors = rumors_for(listener); !rumors.empty())
      out.send(listener, Gossip{std::move(rumors)});
  next_news_ = items_.empty() || listeners.empty() ? kNever : now + timing_.news;
}

}  // namespace starling::gossip
