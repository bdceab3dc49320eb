#include "gossip/node/solitude.h"

#include <fmt/format.h>

namespace starling::gossip {

namespace {

std::vector<std::string> neighbors_of(const Links& links, const Roster& members, bool any) {
  std::vector<std::string> names;
  for (const auto& [peer, link] : links.all()) {
    const Member* member = members.find(peer);
    const bool is_over =
        !member || member->phase == Phase::finished ||
        member->phase == Phase::paused;  // a person paused it, or its trainer is gone
    if (!is_over && (any || link.refusal.empty())) names.push_back(link.name);
  }
  return names;
}

std::vector<std::string> trainers_of(const Roster& members, bool any) {
  std::vector<std::string> names;
  for (const auto& entry : members.others()) {
    const Member& member = entry->member;
    const bool is_over = entry->liveness == Liveness::left || member.phase == Phase::finished;
    const bool has_trained = !is_relay(member) && member.phase != Phase::joining;
    if (!is_over && has_trained && (any || members.agrees(member))) names.push_back(member.name);
  }
  return names;
}

}  // namespace

void Solitude::follow(const Links& links, const Roster& members) {
  const auto is_new = [](const auto& item) { return item.second.is_new(); };
  is_opening_ = std::ranges::any_of(links.all(), is_new);
  const std::pair versions{links.version(), members.version()};
  if (std::exchange(versions_, versions) == versions) return;
  const bool any = was_told_ && !has_averaged_;
  awaited_ = links.all().empty() ? trainers_of(members, any) : neighbors_of(links, members, any);
  std::ranges::sort(awaited_, natural_less);
}

// Where nodes may train alone, a round still waits while edges open.
bool Solitude::lets_end(Time now, bool is_heard) {
  const bool waits = !is_heard && !awaited_.empty() && (rests_ || is_opening_);
  if (!waits) since_.reset();
  if (waits && !since_) since_ = now;
  if (!waits && !is_heard) stepless_ = 0;
  return !waits;
}

std::string Solitude::reason(Time now) const {
  constexpr std::size_t kNamed = 4;
  const auto named = static_cast<std::ptrdiff_t>(std::min(awaited_.size(), kNamed));
  return fmt::format("alone for {:.0f} s: waits for {}{}", seconds(now - since_.value_or(now)),
                     fmt::join(awaited_.begin(), awaited_.begin() + named, ", "),
                     awaited_.size() > kNamed ? ", …" : "");
}

}  // namespace starling::gossip
