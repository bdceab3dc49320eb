#include "gossip/edges/round_counter.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/planted.h"

namespace starling::gossip {
namespace {

// `first`: the highest round of the neighbours; `confirmed`: the highest that b + 1 have reached.
struct Furthest {
  Furthest(EdgeViews edges, std::size_t liars) {
    std::vector<std::uint64_t> rounds;
    for (const EdgeView& edge : edges) {
      if (edge.round == 0) continue;
      rounds.push_back(edge.round);
      if (edge.round > first) first = edge.round, peer = edge.peer;
    }
    heard = rounds.size();
    if (heard < 2) return;
    std::ranges::sort(rounds, std::greater{});
    confirmed = rounds[std::min(liars, heard - 1)];
  }
  std::uint64_t first = 0, confirmed = 0;
  NodeId peer{};  // the neighbour in round `first`
  std::size_t heard = 0;
};

}  // namespace

void RoundCounter::start(Time now, std::uint64_t round, std::uint64_t uncounted) {
  if (round_ == 0) has_joined_ = round > 1;
  round_ = std::max(round_, round);
  uncounted_ = uncounted;
  counted_ = now;
  spare_ = round > 1 ? kSpareOfNewcomer : kSpare;
}

std::uint64_t RoundCounter::follow(Time now, EdgeViews edges) {
  const Furthest furthest(edges, liars_);
  const bool is_confirmed = furthest.first <= std::max(round_, furthest.confirmed) + reach();
  if (!alone(edges))
    return is_confirmed || furthest.heard < 2 ? furthest.first : furthest.confirmed;
  if (now < alone_again_) return furthest.confirmed;
  alone_again_ = now + pause_;
  return furthest.first;
}

std::optional<NodeId> RoundCounter::alone(EdgeViews edges) const {
  const Furthest furthest(edges, liars_);
  const std::uint64_t most = round_ + reach();
  const bool is_alone = furthest.heard > 1 && furthest.first > most && furthest.confirmed <= most;
  return is_alone ? std::optional(furthest.peer) : std::nullopt;
}

void RoundCounter::go_to(Time now, std::uint64_t round, Duration pace) {
  if (PLANTED(round_without_step) && round % 32 == 31) ++round;
  const Duration time = now - std::exchange(counted_, now);
  donor_.reset();
  const std::uint64_t ahead = round - std::exchange(round_, round);
  const auto within = pace > Duration{} ? static_cast<std::uint64_t>(time / pace) : 0;
  const std::uint64_t done = std::max<std::uint64_t>(1, within);
  const std::uint64_t beyond = ahead - std::min(ahead, done), spared = std::min(beyond, spare_);
  spare_ -= spared;
  uncounted_ += beyond - spared;
  if (beyond - spared > kUnlikely) jumped_ = now;
}

}  // namespace starling::gossip
