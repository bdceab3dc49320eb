// What the status says of the search for members, and which member makes room for another.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "gossip/members/membership.h"

namespace starling::gossip {
namespace {

// How long after its last message the status warns of a member whose address cannot be reached. A
// node that asks in vain asks every five seconds.
constexpr Duration kLately = std::chrono::seconds(8);
// How long the status warns that a newcomer found no room. Such a newcomer asks more often.
constexpr Duration kFullMemory = std::chrono::minutes(1);

// Connections to dead members that stay open for their answer. More: a node needs more sockets.
// Fewer: over a path of long round trips a connection is closed before it is established.
constexpr std::size_t kLostAtOnce = 4;
}  // namespace

Prober::View Membership::view() {
  return {roster_.present_others(), [this](NodeId to) { return news_for(to); }, extremes_.ranges()};
}

std::vector<Rumor> Membership::table() const {
  std::vector<Rumor> rumors{{self_record()}};
  for (const auto& [id, entry] : roster_.others())
    rumors.push_back({entry.member, entry.liveness, roster_.self()});
  return rumors;
}

std::string Membership::health() const {
  constexpr int kPoor = 4;
  if (prober_.stretch() < kPoor) return {};
  return fmt::format(
      "this node is slow to answer or hears little: it gives others {} times the time to answer",
      prober_.stretch());
}

void Membership::resolved(Time now, const Resolved& name) {
  if (!name.problem.empty()) return seeds_.unresolved(now, name.at, name.problem);
  if (!seeds_.resolved(now, name.at, name.addresses)) return;
  next_ask_ = now;
}

bool Membership::awaits_seed() const {
  return seeds_.is_awaited([this](const Endpoint& at) { return roster_.knows_endpoint(at); });
}

std::vector<std::string> Membership::warnings(Time now) const {
  std::vector<std::string> warnings = seeds_.reasons(now, connected_);
  if (turned_away_ && now - *turned_away_ < kFullMemory)
    warnings.push_back(
        fmt::format("the cluster has {} members, as many as there may be; others are not taken in",
                    kMembersLimit));
  for (const auto& [id, entry] : roster_.others()) {
    const bool is_heard =
        entry.is_present() && entry.has_spoken && now - entry.last_heard < kLately;
    if (!is_heard || entry.is_reached || !(entry.refused || entry.missed)) continue;
    const std::string at = to_string(entry.member.control);
    warnings.push_back(fmt::format(
        "messages come from {}, and {} {}, the address it gives: look at its listen.advertise",
        entry.member.name, entry.refused ? "nobody listens at" : "no host answers at", at));
  }
  return warnings;
}

// The connections to the members asked before are closed.
void Membership::ask(const Member& lost, Outbox& out) {
  out.send(lost.control, Join{self_record()});
  asked_.emplace_back(lost.control, lost.bulk);
  if (asked_.size() <= kLostAtOnce) return;
  const auto before = std::move(asked_.front());
  asked_.pop_front();
  const bool is_asked = std::ranges::find(asked_, before) != asked_.end();
  if (is_asked || roster_.knows_endpoint(before.first)) return;
  out.put(Hangup{before.first});
  out.put(Hangup{before.second});
}

// Members that never sent this node a message make room first, because any peer can invent them;
// among those, absent members before present ones. Then the member that has been absent longest. A
// present member that has spoken stays.
void Membership::forget_one(Outbox& out) {
  const auto worth = [this](const Entry& entry) {
    return std::tuple(entry.has_spoken, entry.is_present(), entry.last_heard);
  };
  const auto least = std::ranges::min_element(roster_.others(), [&](const auto& a, const auto& b) {
    return worth(a.second) < worth(b.second);
  });
  if (least == roster_.others().end() || (least->second.has_spoken && least->second.is_present()))
    return;
  if (least->second.is_present()) roster_.touch(), roster_.unlist(least->second);
  out.put(Hangup{least->second.member.control});
  dissemination_.forget(least->first);
  roster_.others().erase(least);
}

void Membership::list(const Entry& entry) {
  roster_.list(entry);
  fanout_.meet(entry.member.id, roster_.present_others().size(), prng_);
}

}  // namespace starling::gossip
