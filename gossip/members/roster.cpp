#include "gossip/members/roster.h"

#include <algorithm>
#include <iterator>

#include "base/planted.h"

namespace starling::gossip {
namespace {

bool by_name(const Record* a, const Record* b) {
  return natural_less((*a)->name, (*b)->name);
}

}  // namespace

Roster::Entry* Roster::entry(NodeId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

Rumor Roster::rumor_of(const Entry& entry) const {
  const auto& [liveness, accuser, signature] = entry.accusation;
  if (entry.liveness == Liveness::suspect) return {entry.member, liveness, accuser, signature};
  return {entry.member, entry.liveness, self()};
}

bool has_ended(const Roster& members, NodeId id, std::uint64_t incarnation) {
  const Roster::Entry* other = members.entry(id);
  return !other || other->liveness == Liveness::left || other->member->incarnation != incarnation;
}

std::optional<std::uint64_t> Roster::incarnation_of(NodeId id) const {
  if (id == self()) return own().incarnation;
  const Entry* other = entry(id);
  return other ? std::optional(other->member->incarnation) : std::nullopt;
}

const Member* Roster::find(NodeId id) const {
  if (id == self()) return &own();
  const Entry* other = entry(id);
  return other && other->is_present() ? &*other->member : nullptr;
}

void Roster::sort() const {
  if (sorted_ == present_.size()) return;
  const auto unsorted = present_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::ranges::sort(unsorted, present_.end(), by_name);
  std::ranges::inplace_merge(present_, unsorted, by_name);
  sorted_ = present_.size();
}

std::vector<const Member*> Roster::present() const {
  sort();
  std::vector<const Member*> members;
  members.reserve(present_.size());
  for (const Record* record : present_) members.push_back(&**record);
  return members;
}

std::vector<const Member*> Roster::ready() const {
  sort();
  std::vector<const Member*> members;
  members.reserve(present_.size());
  for (const Record* record : present_)
    if ((*record)->phase != Phase::joining) members.push_back(&**record);
  if (PLANTED(dead_counted))
    for (const auto& entry : others_)
      if (entry->liveness == Liveness::dead && entry->member->phase != Phase::joining)
        members.push_back(&*entry->member);
  return members;
}

std::vector<MemberStatus> Roster::status(Time now) const {
  std::vector<const Record*> absent;
  for (const auto& entry : others_)
    if (!entry->is_present()) absent.push_back(&entry->member);
  std::ranges::sort(absent, by_name);
  sort();
  std::vector<const Record*> all;
  std::ranges::merge(present_, absent, std::back_inserter(all), by_name);
  std::vector<MemberStatus> members;
  members.reserve(all.size());
  for (const Record* record : all) {
    const Entry* other = record == &self_ ? nullptr : entry((*record)->id);
    members.push_back({*record, other ? other->liveness : Liveness::alive,
                       other ? other->last_heard : now, !other, agrees(*record),
                       other ? other->told : now});
  }
  return members;
}

bool any_other_trains(const Roster& members) {
  return std::ranges::any_of(members.others(), [](const auto& other) {
    const Member& member = other->member;
    return other->is_present() && !is_relay(member) && member.phase == Phase::training;
  });
}

std::vector<NodeId> within_reach(const Roster& members) {
  std::vector<NodeId> near = members.present_others();
  if (is_hidden(members.own()))
    std::erase_if(near, [&](NodeId id) { return is_hidden(*members.find(id)); });
  return near;
}

bool are_all_hidden(const Roster& members) {
  const std::size_t others = members.present_others().size();
  return others > 0 && members.counts().hidden == others && is_hidden(members.own());
}

std::string Roster::obstacle(NodeId id) const {
  const Member* member = find(id);
  if (!member) return {};
  if (is_hidden(*member)) return "nobody can dial it, and it has not dialled this node";
  const auto found = unknown_hosts_.find(member->control.host);
  return found == unknown_hosts_.end() ? std::string() : found->second;
}

// ---------------------------------------------------------------- changes

void Roster::note_host(const std::string& host, const std::string& problem) {
  if (problem.empty())
    unknown_hosts_.erase(host);
  else if (unknown_hosts_.size() < kMembersLimit)
    unknown_hosts_[host] = problem;
}

Roster::Entry& Roster::add(const Record& member) {
  Entry& entry = *others_.emplace_back(std::make_unique<Entry>());
  by_id_[member->id] = &entry;
  entry.member = member;
  entry.place = marks_.size();
  marks_.push_back(mark_of(member, entry.liveness));
  return entry;
}

// The last entry takes its place.
void Roster::erase(NodeId id) {
  const std::size_t place = entry(id)->place;
  unknown_hosts_.erase(others_[place]->member->control.host);
  by_id_.erase(id);
  others_.back()->place = place;
  std::swap(others_[place], others_.back());
  std::swap(marks_[place], marks_.back());
  others_.pop_back();
  marks_.pop_back();
}

void Roster::become(Entry& entry, const Record& newer, Liveness now) {
  entry.liveness = now;
  replace(entry, newer);
  entry.suspicion.reset();
  entry.is_hearsay = false;
}

void Roster::replace(Entry& entry, const Record& newer) {
  if (entry.is_listed) {
    counts_.leave(entry.member, own().agreement);
    counts_.enter(newer, own().agreement);
  }
  entry.member = newer;
  marks_[entry.place] = mark_of(entry.member, entry.liveness);
}

void Roster::list(Entry& entry) {
  entry.is_listed = true;
  counts_.enter(entry.member, own().agreement);
  present_.push_back(&entry.member);
  present_others_.push_back(entry.member->id);
}

void Roster::unlist(Entry& entry) {
  entry.is_listed = false;
  counts_.leave(entry.member, own().agreement);
  ++version_;
  ++departures_;
  const auto place = std::ranges::find(present_, &entry.member);
  sorted_ -= place < present_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  present_.erase(place);
  std::erase(present_others_, entry.member->id);
}

}  // namespace starling::gossip
