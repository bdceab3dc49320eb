#include "gossip/members/search.h"

#include <algorithm>
#include <functional>

namespace starling::gossip {
namespace {

constexpr Duration kDeadPauseLimit = std::chrono::seconds(6);
constexpr Duration kAskEvery = std::chrono::milliseconds(500);
constexpr Duration kForgetLeft = std::chrono::minutes(10);
// Connections to dead members that stay open for their answer. More: a node needs more sockets.
// Fewer: over a path of long round trips a connection is closed before it is established.
constexpr std::size_t kLostAtOnce = 4;

}  // namespace

Search::Search(const Options& options, Roster& roster, Prng& prng, Time now)
    : roster_(roster),
      prng_(prng),
      seeds_(options.control, options.aliases, options.timing.retry),
      next_ask_(now) {
  for (const SeedName& seed : options.seeds) seeds_.add(seed, true, now);
  for (const Endpoint& peer : options.peers) seeds_.add(peer, false, now);
}

void Search::resolved(Time now, const Resolved& name) {
  if (!name.problem.empty()) return seeds_.unresolved(now, name.at, name.problem);
  if (seeds_.resolved(now, name.at, name.addresses)) next_ask_ = now;
}

bool Search::knows(const Endpoint& control) const {
  return std::ranges::any_of(roster_.others(), [&](const auto& entry) {
    return entry->is_present() && entry->member->control == control;
  });
}

bool Search::awaits_seed() const {
  return seeds_.is_awaited([this](const Endpoint& at) { return knows(at); });
}

void Search::hurry(Time now) {
  next_ask_ = now;
  seeds_.hurry(now);
}

void Search::tick(Time now, bool is_contested, Outbox& out) {
  if (now < next_ask_) return;
  next_ask_ = now + kAskEvery;
  if (!is_contested) return ask_the_lost(now, out);
  const std::vector<NodeId> others = within_reach(roster_);
  if (!others.empty()) out.send(others[prng_.below(others.size())], Join{roster_.own()});
}

void Search::ask_the_lost(Time now, Outbox& out) {
  // Members that count as hidden dial no others that do. Their seeds still lead to those of them
  // that can be dialled again.
  const bool seeks_all = are_all_hidden(roster_);
  const Seeds::View view{[&](const Endpoint& at) { return !seeks_all && knows(at); },
                         roster_.present_others().empty()};
  seeds_.ask(now, view, roster_.own(), out);
  Roster::Entry* longest = nullptr;
  for (const auto& other : roster_.others()) {
    Roster::Entry& entry = *other;
    const bool is_lost = entry.liveness == Liveness::dead && !is_hidden(entry.member);
    if (!is_lost || now < entry.next_ask) continue;
    if (!longest || entry.next_ask < longest->next_ask) longest = &entry;
  }
  if (longest) {
    longest->pause = std::min(longest->pause * 2, kDeadPauseLimit);
    longest->next_ask = now + longest->pause;
    ask(longest->member->id, out);
  }
  forget_the_gone(now, out);
}

void Search::forget_the_gone(Time now, Outbox& out) {
  std::vector<const Roster::Entry*> absent;
  for (const auto& entry : roster_.others())
    if (!entry->is_present()) absent.push_back(entry.get());
  std::ranges::sort(absent, std::greater(), &Roster::Entry::last_heard);
  std::vector<NodeId> gone;
  for (std::size_t k = 0; k < absent.size(); ++k) {
    const bool left_long_ago =
        absent[k]->liveness == Liveness::left && now - absent[k]->last_heard > kForgetLeft;
    if (left_long_ago || k >= absent_limit(roster_)) gone.push_back(absent[k]->member->id);
  }
  for (const NodeId id : gone) {
    out.put(Reach{id, {}});
    roster_.erase(id);
  }
}

// Closes the connections to the members asked before.
void Search::ask(NodeId lost, Outbox& out) {
  out.send(lost, Join{roster_.own()});
  asked_.push_back(lost);
  if (asked_.size() <= kLostAtOnce) return;
  const NodeId before = asked_.front();
  asked_.pop_front();
  const bool is_asked = std::ranges::find(asked_, before) != asked_.end();
  if (is_asked || roster_.find(before)) return;
  out.put(Hangup{before, Plane::control});
  out.put(Hangup{before, Plane::bulk});
}

}  // namespace starling::gossip
