#include "gossip/node/company.h"

#include <algorithm>

namespace starling::gossip {

Company company_among(const Roster& members) {
  const bool trains = std::ranges::any_of(members.others(), [](const auto& other) {
    const Member& member = other->member;
    return other->is_present() && !is_relay(member) && member.phase == Phase::training;
  });
  return trains ? Company::trains : Company::rests;
}

}  // namespace starling::gossip
