// Evidence: decides which parts of a rumor are proven by signatures.
#pragma once

#include <optional>
#include <tuple>

#include "gossip/members/roster.h"
#include "gossip/trust/notary.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class Evidence {
 public:
  // Both outlive this.
  Evidence(Notary& notary, const Roster& roster) : notary_(notary), roster_(roster) {}

  // The part of the rumor that is proven; nothing if none of it is, or if the known record of the
  // member is later. Without keys: the whole rumor. Unproven parts are counted. A record is
  // verified only if it says something new. Only a member's own record proves that it has left.
  std::optional<Rumor> weigh(const Rumor& rumor);

 private:
  bool is_proven(const Member& heard);
  bool is_accusation(const Rumor& rumor);
  bool is_proven_news(Rumor& rumor, const Record& known);

  Notary& notary_;
  const Roster& roster_;
};

// The order of a member's records.
inline auto age(const Member& member) {
  return std::tuple(member.incarnation, member.version);
}
// The order of records of one age. A member's progress changes without a new version.
inline auto progress(const Member& member) {
  return std::tuple(member.round, member.saved);
}
// Whether two records of one age cannot both be right.
bool contradicts(const Member& a, const Member& b);
// Whether the record replaces a known one of the same age. Of two records that contradict each
// other and are both signed, which only a broken or lying member makes, all nodes keep the same.
bool outdates(const Member& heard, const Member& known);

}  // namespace starling::gossip
