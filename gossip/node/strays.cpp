#include "gossip/node/strays.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace starling::gossip {
namespace {

// How long a warning stays. A node that asks in vain asks every five seconds. Longer: the warning
// stays longer after the mistake is corrected.
constexpr Duration kMemory = std::chrono::seconds(12);
// The pause between messages to strangers. Shorter: a peer can cause more connections to invented
// addresses.
constexpr Duration kPause = std::chrono::milliseconds(100);
constexpr std::size_t kToldLimit = 8;

}  // namespace

bool Strays::may_say(Time now) {
  if (now < next_note_) return false;
  next_note_ = now + kPause;
  return true;
}

Misdirected Strays::note_of(bool asks) const {
  return {asks, control_, cluster_.substr(0, kNameBytesLimit)};
}

void Strays::answer(Time now, const Gate::Stray& stray, Outbox& out) {
  if (may_say(now)) out.answer(stray.from, stray.join.self.control, note_of(true));
}

void Strays::tell(Time now, const Endpoint& at, std::string text) {
  std::erase_if(told_, [now](const auto& item) { return now - item.second.at > kMemory; });
  if (told_.size() >= kToldLimit && !told_.contains(to_string(at))) return;
  told_[to_string(at)] = {std::move(text), now};
}

void Strays::note(Time now, const OtherVersion& other) {
  tell(now, other.control,
       fmt::format("{} at {} speaks version {} of the protocol; this node {}", other.name,
                   to_string(other.control), other.version, kProtocolVersion));
}

void Strays::receive(Time now, NodeId from, const Misdirected& note, Seeds& seeds, Outbox& out) {
  if (note.cluster == cluster_) return;
  const Endpoint& at = note.control;
  seeds.has_told(at);
  tell(now, at,
       fmt::format("{} is of cluster \"{}\"; this node of \"{}\"",
                   at.port == 0 ? located("a node", at) : to_string(at), note.cluster, cluster_));
  if (note.asks && may_say(now)) out.answer(from, note.control, note_of(false));
}

std::vector<std::string> Strays::warnings(Time now) const {
  std::vector<std::string> warnings;
  for (const auto& [at, told] : told_)
    if (now - told.at <= kMemory) warnings.push_back(told.text);
  return warnings;
}

}  // namespace starling::gossip
