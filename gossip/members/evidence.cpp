#include "gossip/members/evidence.h"

namespace starling::gossip {

bool contradicts(const Member& a, const Member& b) {
  return a.state() != b.state() || a.agreement != b.agreement ||
         a.is_unreachable != b.is_unreachable || a.role != b.role || a.group != b.group;
}

bool outdates(const Member& heard, const Member& known) {
  const bool is_elsewhere = heard.control != known.control;
  if (!contradicts(heard, known) && !is_elsewhere) return progress(heard) > progress(known);
  return !heard.signature.empty() && std::tuple(progress(heard), heard.signature) >
                                         std::tuple(progress(known), known.signature);
}

std::optional<Rumor> Evidence::weigh(const Rumor& rumor) {
  if (!notary_.has_keys()) return rumor;
  const Roster::Entry* entry = roster_.entry(rumor.member->id);
  Rumor proven = rumor;
  if (entry ? !is_proven_news(proven, entry->member) : !is_proven(rumor.member))
    return std::nullopt;
  if (rumor.accuses() && !is_accusation(rumor)) proven.liveness = Liveness::alive;
  const bool has_left = proven.member->phase == Phase::left;
  if (rumor.liveness == Liveness::left && !has_left) notary_.refuse("farewell");
  if (has_left || rumor.liveness == Liveness::left)
    proven.liveness = has_left ? Liveness::left : Liveness::alive;
  return proven;
}

// An accusation of this node needs no signature: this node refutes it anyway.
bool Evidence::is_accusation(const Rumor& rumor) {
  if (rumor.member->id == roster_.self()) return true;
  const Roster::Entry* entry = roster_.entry(rumor.member->id);
  const bool is_of_death = rumor.liveness == Liveness::dead;
  if (entry && entry->suspicion && age(rumor.member) == age(entry->member) &&
      entry->suspicion->has_heard(rumor.accuser, is_of_death))
    return false;
  const auto is_sound = notary_.verify_accusation(rumor);
  if (is_sound == false) notary_.refuse("accusation");
  return is_sound == true;
}

bool Evidence::is_proven(const Member& heard) {
  const auto verified = notary_.verify(heard);
  if (!verified) notary_.refuse(verified.error().text);
  return verified.has_value();
}

// A record that says nothing new need not be verified: the known one takes its place.
bool Evidence::is_proven_news(Rumor& rumor, const Record& known) {
  const Member& heard = rumor.member;
  const bool is_certified_alike = heard.certificate == known->certificate;
  if (is_certified_alike && age(heard) < age(known)) return false;
  if (is_certified_alike && age(heard) == age(known) && !outdates(heard, known)) {
    rumor.member = known;
    return true;
  }
  return is_proven(heard);
}

}  // namespace starling::gossip
