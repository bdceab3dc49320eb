#include "gossip/members/roster.h"

#include <algorithm>

#include "base/planted.h"

namespace starling::gossip {
namespace {

bool by_name(const Member* a, const Member* b) {
  return natural_less(a->name, b->name);
}
bool by_id(const Member* a, const Member* b) {
  return a->id < b->id;
}

}  // namespace

const Roster::Entry* Roster::entry(NodeId id) const {
  const auto found = others_.find(id);
  return found == others_.end() ? nullptr : &found->second;
}

Rumor Roster::rumor_of(const Entry& entry) const {
  const auto& [liveness, accuser, signature] = entry.accusation;
  if (entry.liveness == Liveness::suspect) return {entry.member, liveness, accuser, signature};
  return {entry.member, entry.liveness, self()};
}

bool Roster::has_ended(NodeId id, std::uint64_t incarnation) const {
  const Entry* other = entry(id);
  return !other || other->liveness == Liveness::left || other->member.incarnation != incarnation;
}

std::optional<std::uint64_t> Roster::incarnation_of(NodeId id) const {
  if (id == self()) return self_.incarnation;
  const Entry* other = entry(id);
  return other ? std::optional(other->member.incarnation) : std::nullopt;
}

const Member* Roster::find(NodeId id) const {
  if (id == self()) return &self_;
  const Entry* other = entry(id);
  return other && other->is_present() ? &other->member : nullptr;
}

std::vector<const Member*> Roster::ready() const {
  std::vector<const Member*> members = present();
  if (PLANTED(dead_counted))
    for (const auto& [id, entry] : others_)
      if (entry.liveness == Liveness::dead) members.push_back(&entry.member);
  std::erase_if(members, [](auto* member) { return member->phase == Phase::joining; });
  return members;
}

std::size_t Roster::ready_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(present_, [](auto* m) { return m->phase != Phase::joining; }));
}

std::size_t Roster::relay_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(present_, [](auto* member) { return is_relay(*member); }));
}

std::vector<MemberStatus> Roster::status(Time now) const {
  std::vector<MemberStatus> members{{self_, Liveness::alive, now, true}};
  for (const auto& [id, entry] : others_)
    members.push_back({entry.member, entry.liveness, entry.last_heard, false});
  std::ranges::sort(members, [](const auto& a, const auto& b) {
    return natural_less(a.member.name, b.member.name);
  });
  return members;
}

std::vector<const Member*> Roster::within_reach() const {
  std::vector<const Member*> members = present_others_;
  if (is_hidden(self_)) std::erase_if(members, [](auto* member) { return is_hidden(*member); });
  return members;
}

// The lists stay sorted: sorting them again for each of many newcomers would be most of the work.
void Roster::list(const Entry& entry) {
  const Member* member = &entry.member;
  present_.insert(std::ranges::upper_bound(present_, member, by_name), member);
  present_others_.insert(std::ranges::upper_bound(present_others_, member, by_id), member);
}

void Roster::unlist(const Entry& entry) {
  ++version_;
  ++departures_;
  std::erase(present_, &entry.member);
  std::erase(present_others_, &entry.member);
}

}  // namespace starling::gossip
