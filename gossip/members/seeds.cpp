#include "gossip/members/seeds.h"

#include <fmt/core.h>

#include <algorithm>

namespace starling::gossip {
namespace {

// The longest pause between two joins. Longer: a cluster that comes back is found later.
constexpr Duration kPauseLimit = std::chrono::seconds(5);
// The status reports a named seed that is silent for this long.
constexpr Duration kPatience = std::chrono::seconds(2);
constexpr std::size_t kSeedsLimit = 1024;

}  // namespace

void Seeds::add(const Endpoint& seed, bool is_named, Time now) {
  if (seed == own_) return;
  const auto known = std::ranges::find(seeds_, seed, &Seed::endpoint);
  if (known != seeds_.end())
    known->is_named |= is_named;
  else if (seeds_.size() < kSeedsLimit)
    seeds_.push_back({.endpoint = seed,
                      .address = seed,
                      .is_named = is_named,
                      .since = now,
                      .next = now,
                      .pause = pause_});
}

void Seeds::ask(Time now, const Known& is_known, const Member& self, Outbox& out) {
  for (Seed& seed : seeds_) {
    if (is_known(seed.address) || is_known(seed.endpoint)) {
      seed.is_met = true;
      seed.finding.clear();
      continue;
    }
    if (now < seed.next) continue;
    seed.pause = std::min(seed.pause * 2, kPauseLimit);
    seed.next = now + seed.pause;
    out.send(seed.endpoint, Join{self});
    if (seed.is_named && !seed.is_met) out.put(ConnectProbe{seed.endpoint});
  }
}

bool Seeds::is_awaited(const Known& is_known) const {
  return std::ranges::any_of(seeds_, [&](const Seed& seed) {
    const bool is_settled =
        seed.has_told || !seed.finding.empty() || is_known(seed.address) || is_known(seed.endpoint);
    return seed.is_named && !is_settled;
  });
}

void Seeds::hurry(Time now) {
  for (Seed& seed : seeds_) seed.next = now;
}

template <class Change>
void Seeds::change(const Endpoint& at, Change change) {
  for (Seed& seed : seeds_)
    if (seed.endpoint == at || seed.address == at) change(seed);
}

void Seeds::refused(const Endpoint& at) {
  change(at, [](Seed& seed) {
    seed.finding = "nobody listens there";
    seed.has_told = false;
  });
}

void Seeds::unanswered(const Endpoint& at) {
  change(at, [](Seed& seed) { seed.finding = "the host does not answer"; });
}

bool Seeds::resolved(Time now, const Endpoint& at, const Endpoint& address) {
  bool is_new = false;
  change(at, [&](Seed& seed) {
    if (seed.endpoint != at || seed.address == address) return;
    seed.address = address;
    seed.finding.clear();
    seed.next = now;
    is_new = true;
  });
  return is_new;
}

void Seeds::unresolved(const Endpoint& at, const std::string& problem) {
  change(at, [&](Seed& seed) { seed.finding = problem; });
}

void Seeds::has_told(const Endpoint& at) {
  change(at, [](Seed& seed) { seed.has_told = true; });
}

// What to say of a silent seed whose host accepts connections.
std::string Seeds::silence(const Seed& seed) const {
  if (!is_numeric(seed.address)) return "the host is looked up, and no name server answers";
  if (is_loopback(own_) && !is_loopback(seed.address))
    return fmt::format(
        "no answer; other machines cannot reach this node at {}: set listen.control, or "
        "listen.advertise, to an address that they reach",
        to_string(own_));
  return fmt::format(
      "no answer; what listens there is no node, hangs, or cannot reach this node at {}",
      to_string(own_));
}

std::vector<std::string> Seeds::reasons(Time now, bool is_connected) const {
  std::vector<std::string> reasons;
  for (const Seed& seed : seeds_) {
    if (!seed.is_named || seed.is_met || seed.has_told) continue;
    const bool is_silent = seed.finding.empty();
    if (is_silent && (is_connected || now - seed.since < kPatience)) continue;
    reasons.push_back(fmt::format("cluster.join = \"{}\": {}", to_string(seed.endpoint),
                                  is_silent ? silence(seed) : seed.finding));
  }
  return reasons;
}

}  // namespace starling::gossip
