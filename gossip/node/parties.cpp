#include "gossip/node/parties.h"

#include <algorithm>
#include <map>

namespace starling::gossip {

Parties::Parties(const Roster& members, std::size_t liars)
    : self_(&members.own()), liars_(liars), here_(members.ready()) {
  std::erase_if(here_, [&](const Member* member) {
    return !members.agrees(*member) || member->phase == Phase::resumed;
  });
  if (std::ranges::find(here_, self_) == here_.end()) here_.push_back(self_);
  if (absent_count(members) == 0) return;
  for (const auto& entry : members.others())
    if (!entry->is_present() && has_ended(*entry->member) && members.agrees(*entry->member))
      gone_.push_back(&*entry->member);
}

std::size_t Parties::ended() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      here_, [&](const Member* member) { return is_self(*member) || has_ended(*member); }));
}

std::size_t Parties::enough() const {
  return votes_needed(here_.size(), liars_);
}

std::pair<std::uint64_t, std::size_t> Parties::most_told(std::uint64_t own,
                                                         const std::set<NodeId>& refused) const {
  std::map<std::uint64_t, std::size_t> counts;
  std::set<std::uint64_t> sound;
  if (own != 0) ++counts[own], sound.insert(own);
  for (const Member* member : here_) {
    if (is_self(*member) || member->sealed == 0) continue;
    ++counts[member->sealed];
    if (!refused.contains(member->id)) sound.insert(member->sealed);
  }
  std::pair<std::uint64_t, std::size_t> most;
  for (const auto& [hash, count] : counts)
    if (count >= most.second && (sound.contains(hash) || count >= enough())) most = {hash, count};
  return most;
}

bool Parties::all_others_tell(std::uint64_t model) const {
  return std::ranges::all_of(
      here_, [&](const Member* member) { return is_self(*member) || member->sealed == model; });
}

bool Parties::are_left_behind() const {
  const std::size_t needed = votes_needed(here_.size() + gone_.size(), liars_);
  const auto has_none = [](const Member* member) { return member->sealed == 0; };
  return gone_.size() >= std::max(needed, here_.size() + 1) && std::ranges::all_of(here_, has_none);
}

std::size_t votes_needed(std::size_t members, std::size_t liars) {
  const std::size_t honest = members - std::min(members, liars);
  return std::max<std::size_t>(1, std::min(liars + 1, honest));
}

}  // namespace starling::gossip
