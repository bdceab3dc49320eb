// How this node tells other members what it knows: news to a few, its whole table to one.
#include <algorithm>

#include "gossip/members/membership.h"

namespace starling::gossip {
namespace {

// Rumors in one message, besides those of sender and receiver: at most kRumorsLimit, or one for
// every kRumorsShare members if that is more.
constexpr std::size_t kRumorsLimit = 32, kRumorsShare = 4;

}  // namespace

void Membership::exchange_tables(Time now, Outbox& out) {
  exchange_pause_ = std::min(exchange_pause_ * 2, timing_.exchange);
  next_exchange_ = now + exchange_pause_;
  const std::vector<const Member*>& others = roster_.present_others();
  if (others.empty()) return;
  const Member* partner = others[prng_.below(others.size())];
  out.send(partner->control, Table{true, table()});
}

void Membership::add_news(const Rumor& rumor) {
  dissemination_.add(rumor);
  next_news_ = std::min(next_news_, last_news_ + timing_.news);
}

void Membership::tell_news(Time now, Outbox& out) {
  last_news_ = now;
  const std::vector<NodeId> listeners = fanout_.choose(roster_.present_others(), prng_);
  for (NodeId listener : listeners)
    if (const auto rumors = news_for(listener); !rumors.empty())
      out.send(*roster_.control_of(listener), Gossip{rumors});
  next_news_ = dissemination_.empty() || listeners.empty() ? kNever : now + timing_.news;
}

// News, this node's own record, and the receiver's record if the receiver is suspect or dead here.
std::vector<Rumor> Membership::news_for(NodeId to) {
  const std::size_t members = roster_.others().size() + 1;
  std::vector<Rumor> rumors =
      dissemination_.take(std::max(kRumorsLimit, members / kRumorsShare), members);
  if (const auto found = roster_.others().find(to); found != roster_.others().end())
    if (const Entry& entry = found->second; entry.liveness != Liveness::alive)
      rumors.push_back({entry.member, entry.liveness, roster_.self()});
  rumors.push_back({self_record()});
  return rumors;
}

}  // namespace starling::gossip
