#include "gossip/node/company.h"

namespace starling::gossip {

Company company_among(const Roster& members) {
  bool may_train = false, has_ended = false;
  for (const auto& other : members.others()) {
    const Roster::Entry& entry = *other;
    if (is_relay(entry.member)) continue;
    const Phase phase = entry.member->phase;
    if (entry.is_present() && phase == Phase::training) return Company::trains;
    const bool is_over = entry.liveness == Liveness::left || phase == Phase::finished;
    may_train |= !is_over;
    has_ended |= is_over;
  }
  return has_ended && !may_train ? Company::ended : Company::rests;
}

}  // namespace starling::gossip
