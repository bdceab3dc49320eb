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

void Strays::say(Time now, const Endpoint& to, Misdirected note, Outbox& out) {
  if (now < next_note_) return;
  next_note_ = now + kPause;
  note.control = control_;
  note.bulk = bulk_;
  note.cluster = cluster_.substr(0, kNameBytesLimit);
  out.introduce(to, std::move(note));
}

void Strays::answer(Time now, const Gate::Stray& stray, Outbox& out) {
  const auto why = stray.is_on_bulk ? Misdirected::Why::bulk_port : Misdirected::Why::cluster;
  Misdirected note{.why = why, .asks = !stray.is_on_bulk, .control = {}, .bulk = {}, .cluster = {}};
  say(now, stray.join.self.control, std::move(note), out);
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

void Strays::receive(Time now, const Misdirected& note, Seeds& seeds, Outbox& out) {
  const bool is_port = note.why == Misdirected::Why::bulk_port;
  if (!is_port && note.cluster == cluster_) return;
  const Endpoint& at = is_port ? note.bulk : note.control;
  seeds.has_told(at);
  tell(now, at,
       is_port ? fmt::format("{} is a bulk port; the control port of that node is {}",
                             to_string(at), to_string(note.control))
               : fmt::format("{} is of cluster \"{}\"; this node of \"{}\"", to_string(at),
                             note.cluster, cluster_));
  if (note.asks) say(now, note.control, {}, out);
}

std::vector<std::string> Strays::warnings(Time now) const {
  std::vector<std::string> warnings;
  for (const auto& [at, told] : told_)
    if (now - told.at <= kMemory) warnings.push_back(told.text);
  return warnings;
}

}  // namespace starling::gossip
