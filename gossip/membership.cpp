#include "gossip/membership.h"

#include <fmt/core.h>

#include <algorithm>

namespace starling::gossip {
namespace {

constexpr std::size_t kFanout = 3;  // members a period tells
// Good news travels fast: whoever hears it gossips this often in a row, this much faster. A node
// then misses it with probability exp(-kFanout * kNewsGossips), not exp(-kFanout).
constexpr std::size_t kNewsGossips = 4;
constexpr int kNewsHaste = 10;
constexpr Duration kSeedPauseLimit = std::chrono::seconds(5);
constexpr Duration kReachOut = std::chrono::seconds(3);
constexpr Duration kForgetAfter = std::chrono::minutes(10);
constexpr std::size_t kOthersLimit = kMembersLimit - 1;

bool is_newer(const Member& a, const Member& b) {
  if (a.incarnation != b.incarnation) return a.incarnation > b.incarnation;
  return a.heartbeat > b.heartbeat;
}

}  // namespace

Membership::Membership(const Options& options, Time now)
    : timing_(options.timing),
      prng_(Prng::derive(options.seed, node_id(options.name).value)),
      next_gossip_(now),
      next_reach_out_(now + kReachOut) {
  self_.id = node_id(options.name);
  self_.name = options.name;
  self_.control = options.control;
  self_.bulk = options.bulk;
  self_.http = options.http;
  self_.incarnation = options.incarnation;
  for (const Endpoint& seed : options.seeds) add_seed(seed, now);
}

void Membership::add_seed(const Endpoint& seed, Time now) {
  const auto known = std::ranges::find(seeds_, seed, &Seed::endpoint);
  if (known == seeds_.end() && seed != self_.control) seeds_.push_back({seed, now, timing_.retry});
}

void Membership::receive(Time now, const Join& join, Outbox& out) {
  merge(now, join.self, out);
  out.send(join.self.control, table());
}

void Membership::receive(Time now, const Gossip& gossip, Outbox& out) {
  for (const Member& member : gossip.members) merge(now, member, out);
}

void Membership::heard_from(Time now, NodeId id, std::uint64_t incarnation) {
  const auto found = others_.find(id);
  if (found == others_.end() || found->second.member.incarnation != incarnation) return;
  connected_ = true;
  if (is_present(found->second)) found->second.last_heard = now;
}

void Membership::merge(Time now, const Member& heard, Outbox& out) {
  if (heard.id != node_id(heard.name)) return;
  if (heard.id == self_.id) return heard_of_self(heard);
  auto found = others_.find(heard.id);
  if (found == others_.end()) {
    if (heard.phase == Phase::left || others_.size() >= kOthersLimit) return;
    others_[heard.id] = {heard, Liveness::alive, now};
    connected_ = true;
    ++version_;
    spread_news(now);
    out.event(Event::Kind::joined, fmt::format("{} joined", heard.name));
    return;
  }
  Entry& entry = found->second;
  const bool restarted = heard.incarnation > entry.member.incarnation;
  if (!is_newer(heard, entry.member)) return;
  if (entry.liveness == Liveness::left && !restarted) return;
  const bool was_present = is_present(entry);
  const Phase old_phase = entry.member.phase;
  entry.member = heard;
  entry.last_heard = now;
  if (heard.phase == Phase::left) {
    entry.liveness = Liveness::left;
    out.event(Event::Kind::left, fmt::format("{} left", heard.name));
    out.put(Hangup{heard.control});
  } else {
    entry.liveness = Liveness::alive;
    if (!was_present || restarted)
      out.event(Event::Kind::joined, fmt::format("{} is back", heard.name));
  }
  if (was_present == is_present(entry) && !restarted && old_phase == heard.phase) return;
  ++version_;
  spread_news(now);
}

// An older life of this node is outlived by a higher incarnation; a higher one is somebody else.
void Membership::heard_of_self(const Member& heard) {
  if (heard.incarnation > self_.incarnation || heard.control != self_.control)
    if (heard.incarnation >= self_.incarnation) impostor_ = heard.control;
}

void Membership::tick(Time now, Outbox& out) {
  judge(now, out);
  ask_seeds(now, out);
  if (now >= next_gossip_) gossip(now, out);
}

Time Membership::deadline() const {
  Time next = std::min(next_gossip_, next_reach_out_);
  for (const Seed& seed : seeds_) next = std::min(next, seed.next);
  return next;
}

void Membership::judge(Time now, Outbox& out) {
  for (auto& [id, entry] : others_) {
    const Duration silence = now - entry.last_heard;
    if (entry.liveness == Liveness::alive && silence >= timing_.suspect_after)
      entry.liveness = Liveness::suspect;
    else if (entry.liveness == Liveness::suspect && silence < timing_.suspect_after)
      entry.liveness = Liveness::alive;
    if (entry.liveness == Liveness::suspect && silence >= timing_.dead_after) {
      entry.liveness = Liveness::dead;
      ++version_;
      out.event(Event::Kind::died, fmt::format("{} died: not heard of for {:.1f} s",
                                               entry.member.name, seconds(silence)));
      out.put(Hangup{entry.member.control});
    }
  }
  std::erase_if(others_, [&](const auto& item) {
    return !is_present(item.second) && now - item.second.last_heard > kForgetAfter;
  });
}

void Membership::ask_seeds(Time now, Outbox& out) {
  for (Seed& seed : seeds_) {
    if (now < seed.next) continue;
    seed.pause = std::min(seed.pause * 2, kSeedPauseLimit);
    seed.next = now + seed.pause;
    if (!knows_endpoint(seed.endpoint)) out.send(seed.endpoint, Join{self_});
  }
  if (now < next_reach_out_) return;
  next_reach_out_ = now + kReachOut;
  std::vector<const Entry*> dead;
  for (const auto& [id, entry] : others_)
    if (entry.liveness == Liveness::dead) dead.push_back(&entry);
  if (!dead.empty()) out.send(dead[prng_.below(dead.size())]->member.control, Join{self_});
}

void Membership::gossip(Time now, Outbox& out) {
  last_gossip_ = now;
  next_gossip_ = now + (news_ > 0 ? timing_.heartbeat / kNewsHaste : timing_.heartbeat);
  if (news_ > 0) --news_;
  ++self_.heartbeat;
  std::vector<const Member*> targets;
  for (const auto& [id, entry] : others_)
    if (is_present(entry)) targets.push_back(&entry.member);
  prng_.shuffle(std::span(targets));
  targets.resize(std::min(targets.size(), kFanout));
  if (targets.empty()) return;
  const Gossip news = table();
  for (const Member* target : targets) out.send(target->control, news);
}

void Membership::leave(Outbox& out) {
  self_.phase = Phase::left;
  ++self_.heartbeat;
  const Gossip goodbye{{self_}};
  for (const auto& [id, entry] : others_)
    if (is_present(entry)) out.send(entry.member.control, goodbye);
}

void Membership::set_self(Time now, Phase phase, std::uint64_t round, double loss) {
  self_.round = round;
  self_.loss = loss;
  if (self_.phase == phase) return;
  self_.phase = phase;
  ++version_;
  spread_news(now);
}

void Membership::spread_news(Time now) {
  news_ = kNewsGossips;
  const Time soon = last_gossip_ + timing_.heartbeat / kNewsHaste;
  next_gossip_ = std::min(next_gossip_, std::max(now, soon));
}

Gossip Membership::table() const {
  Gossip gossip{{self_}};
  for (const auto& [id, entry] : others_)
    if (entry.liveness == Liveness::alive || entry.liveness == Liveness::left)
      gossip.members.push_back(entry.member);
  return gossip;
}

bool Membership::knows_endpoint(const Endpoint& control) const {
  return std::ranges::any_of(others_, [&](const auto& item) {
    return is_present(item.second) && item.second.member.control == control;
  });
}

const Member* Membership::find(NodeId id) const {
  if (id == self_.id) return &self_;
  const auto found = others_.find(id);
  return found != others_.end() && is_present(found->second) ? &found->second.member : nullptr;
}

std::vector<const Member*> Membership::present() const {
  std::vector<const Member*> members{&self_};
  for (const auto& [id, entry] : others_)
    if (is_present(entry)) members.push_back(&entry.member);
  std::ranges::sort(members, [](auto* a, auto* b) { return natural_less(a->name, b->name); });
  return members;
}

std::vector<const Member*> Membership::ready() const {
  std::vector<const Member*> members = present();
  std::erase_if(members, [](auto* member) { return member->phase == Phase::joining; });
  return members;
}

std::vector<MemberStatus> Membership::status(Time now) const {
  std::vector<MemberStatus> members{{self_, Liveness::alive, now, true}};
  for (const auto& [id, entry] : others_)
    members.push_back({entry.member, entry.liveness, entry.last_heard, false});
  std::ranges::sort(members, [](const auto& a, const auto& b) {
    return natural_less(a.member.name, b.member.name);
  });
  return members;
}

}  // namespace starling::gossip
