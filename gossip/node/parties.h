// Parties: the members that train in one run with this node, because their agreed keys have the
// same values. The constructor walks all members once. Valid until a member changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "gossip/members/roster.h"

namespace starling::gossip {

class Parties {
 public:
  // `liars`: the number of members that may send false records.
  Parties(const Roster& members, std::size_t liars);

  // Live and suspect ones, this node included, in natural order of names.
  const std::vector<const Member*>& here() const { return here_; }
  // The members that left or died after their rounds were over.
  const std::vector<const Member*>& gone() const { return gone_; }
  bool is_self(const Member& member) const { return &member == self_; }

  // The number of present parties whose rounds are over; this node counts as one of them.
  std::size_t ended() const;
  // The number of present parties whose equal records are believed.
  std::size_t enough() const;
  // The model that most of those here tell, and how many; this node tells `own`, if that is not 0.
  // A model that only refused ones tell does not count, unless `enough` tell it.
  std::pair<std::uint64_t, std::size_t> most_told(std::uint64_t own,
                                                  const std::set<NodeId>& refused) const;
  bool all_others_tell(std::uint64_t model) const;
  // Whether most of those that trained together have ended and gone, and nobody here tells a model.
  bool are_left_behind() const;

 private:
  const Member* self_;
  std::size_t liars_;
  std::vector<const Member*> here_, gone_;
};

// The votes that decide among so many members.
std::size_t votes_needed(std::size_t members, std::size_t liars);

}  // namespace starling::gossip
