// What there is to see of the members, and the list of those that are present.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/planted.h"
#include "gossip/members/membership.h"

namespace starling::gossip {
namespace {

// Of messages that come from an address that cannot be reached. Whoever asks in vain asks every
// five seconds.
constexpr Duration kLately = std::chrono::seconds(8);

bool by_name(const Member* a, const Member* b) {
  return natural_less(a->name, b->name);
}
bool by_id(const Member* a, const Member* b) {
  return a->id < b->id;
}

}  // namespace

bool Membership::has_ended(NodeId id, std::uint64_t incarnation) const {
  const auto found = others_.find(id);
  return found == others_.end() || found->second.liveness == Liveness::left ||
         found->second.member.incarnation != incarnation;
}

Prober::View Membership::view() {
  return {present_others_, [this](NodeId to) { return news_for(to); }};
}

std::vector<Rumor> Membership::table() const {
  std::vector<Rumor> rumors{{self_record()}};
  for (const auto& [id, entry] : others_) rumors.push_back({entry.member, entry.liveness, self()});
  return rumors;
}

const Endpoint* Membership::control_of(NodeId id) const {
  const auto found = others_.find(id);
  return found == others_.end() ? nullptr : &found->second.member.control;
}

std::optional<std::uint64_t> Membership::incarnation_of(NodeId id) const {
  if (id == self()) return self_record().incarnation;
  const auto found = others_.find(id);
  return found == others_.end() ? std::nullopt : std::optional(found->second.member.incarnation);
}

bool Membership::knows_endpoint(const Endpoint& control) const {
  return std::ranges::any_of(others_, [&](const auto& item) {
    return is_present(item.second) && item.second.member.control == control;
  });
}

bool Membership::has_spoken(NodeId id) const {
  const auto found = others_.find(id);
  return found != others_.end() && found->second.has_spoken;
}

const Member* Membership::find(NodeId id) const {
  if (id == self()) return &self_record();
  const auto found = others_.find(id);
  return found != others_.end() && is_present(found->second) ? &found->second.member : nullptr;
}

std::vector<const Member*> Membership::ready() const {
  std::vector<const Member*> members = present();
  if (PLANTED(dead_counted))
    for (const auto& [id, entry] : others_)
      if (entry.liveness == Liveness::dead) members.push_back(&entry.member);
  std::erase_if(members, [](auto* member) { return member->phase == Phase::joining; });
  return members;
}

std::size_t Membership::ready_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(present_, [](auto* m) { return m->phase != Phase::joining; }));
}

std::vector<MemberStatus> Membership::status(Time now) const {
  std::vector<MemberStatus> members{{self_record(), Liveness::alive, now, true}};
  for (const auto& [id, entry] : others_)
    members.push_back({entry.member, entry.liveness, entry.last_heard, false});
  std::ranges::sort(members, [](const auto& a, const auto& b) {
    return natural_less(a.member.name, b.member.name);
  });
  return members;
}

std::string Membership::health() const {
  constexpr int kPoor = 4;
  if (prober_.stretch() < kPoor) return {};
  return fmt::format(
      "this node is slow to answer or hears little: it gives others {} times the time to answer",
      prober_.stretch());
}

void Membership::resolved(Time now, const Resolved& name) {
  if (!name.problem.empty()) return seeds_.unresolved(name.at, name.problem);
  if (!seeds_.resolved(now, name.at, name.address)) return;
  next_ask_ = now;
}

bool Membership::awaits_seed() const {
  return seeds_.is_awaited([this](const Endpoint& at) { return knows_endpoint(at); });
}

std::vector<std::string> Membership::warnings(Time now) const {
  std::vector<std::string> warnings = seeds_.reasons(now, connected_);
  for (const auto& [id, entry] : others_) {
    const bool is_heard = is_present(entry) && entry.has_spoken && now - entry.last_heard < kLately;
    if (!is_heard || entry.is_reached || !(entry.refused || entry.missed)) continue;
    const std::string at = to_string(entry.member.control);
    warnings.push_back(fmt::format(
        "messages come from {}, and {} {}, the address it gives: look at its listen.advertise",
        entry.member.name, entry.refused ? "nobody listens at" : "no host answers at", at));
  }
  return warnings;
}

// Those that never spoke themselves make room first, for anybody can invent them, the gone before
// those that are present; then the one that is gone longest. Who spoke and is present stays.
void Membership::forget_one(Outbox& out) {
  const auto worth = [this](const Entry& entry) {
    return std::tuple(entry.has_spoken, is_present(entry), entry.last_heard);
  };
  const auto least = std::ranges::min_element(
      others_, [&](const auto& a, const auto& b) { return worth(a.second) < worth(b.second); });
  if (least == others_.end() || (least->second.has_spoken && is_present(least->second))) return;
  if (is_present(least->second)) ++version_, unlist(least->second);
  out.put(Hangup{least->second.member.control});
  dissemination_.forget(least->first);
  others_.erase(least);
}

// Sorted as they come and go: to sort anew for each of many that join would be most of the work.
void Membership::list(const Entry& entry) {
  const Member* member = &entry.member;
  present_.insert(std::ranges::upper_bound(present_, member, by_name), member);
  present_others_.insert(std::ranges::upper_bound(present_others_, member, by_id), member);
  fanout_.meet(member->id, present_others_.size(), prng_);
}

void Membership::unlist(const Entry& entry) {
  ++departures_;
  std::erase(present_, &entry.member);
  std::erase(present_others_, &entry.member);
}

}  // namespace starling::gossip
