#include "gossip/members/prober.h"

#include <algorithm>

namespace starling::gossip {

Probe indirect_ack(std::uint64_t number, NodeId subject, const Member* known) {
  std::vector<Rumor> rumors;
  if (known) rumors.push_back({Record(*known)});
  return {Probe::Kind::ack, number, subject, std::move(rumors), {}};
}

Prober::Prober(const Timing& timing, std::uint64_t seed, Time now)
    : timing_(timing), prng_(Prng::derive(seed, stable_hash("prober"))), next_probe_(now) {}

Duration Prober::patience() const {
  const Duration measured = from_seconds(2 * round_trip_s_ + 4 * deviation_s_);
  return std::clamp<Duration>(measured, timing_.answer, 10 * timing_.answer) * stretch();
}

std::vector<Prober::Silence> Prober::end_probes(Time now) {
  std::vector<Silence> silent;
  std::erase_if(asked_, [&](const auto& item) {
    const Asked& asked = item.second;
    if (!asked.requested() || now < due(asked)) return false;
    // A helper sent not even a nack: perhaps this node itself receives nothing.
    worsen(asked.helpers > asked.nacks ? 1 : 0);
    if (asked.by_others && asked.nacks == 0) return true;
    silent.push_back({asked.target, asked.sent, asked.nacks > 0});
    return true;
  });
  return silent;
}

std::vector<Prober::Silence> Prober::tick(Time now, const View& view, Outbox& out) {
  std::size_t unanswered = 0;
  for (auto& [number, asked] : asked_)
    if (!asked.requested() && now >= due(asked))
      ask_others(now, number, asked, view, out), ++unanswered;
  std::vector<Silence> silent = end_probes(now);
  for (auto& [number, relay] : relays_) {
    if (relay.told || now < relay.nack) continue;
    relay.told = true;
    out.send(relay.asker, Probe{Probe::Kind::nack, relay.number, relay.subject, {}, {}});
  }
  std::erase_if(relays_, [&](const auto& item) { return now >= item.second.end; });
  if (now >= next_probe_) {
    next_probe_ = now + timing_.period * stretch();
    if (const Member* target = next_target(view)) ask(now, *target, view, out);
  }
  for (std::size_t more = kNextAtOnce * unanswered; more > 0 && asked_.size() < kAskedLimit; --more)
    if (const Member* target = next_target(view)) ask(now, *target, view, out);
  return silent;
}

Time Prober::deadline() const {
  Time next = next_probe_;
  for (const auto& [number, asked] : asked_) next = std::min(next, due(asked));
  for (const auto& [number, relay] : relays_)
    next = std::min(next, relay.told ? relay.end : relay.nack);
  return next;
}

// A probe sent while answers were slow waits no longer than the current patience.
Time Prober::due(const Asked& asked) const {
  const Duration wait = std::min(asked.wait, patience());
  return asked.requested() ? asked.requested_at + 2 * wait : asked.sent + wait;
}

bool Prober::is_asked(NodeId target) const {
  return std::ranges::any_of(asked_,
                             [&](const auto& item) { return item.second.target == target; });
}

void Prober::doubt(Time now, NodeId member) {
  if (is_asked(member) || std::ranges::find(doubts_, member) != doubts_.end()) return;
  doubts_.push_back(member);
  next_probe_ = std::min(next_probe_, now);
}

void Prober::refused(NodeId member) {
  std::erase_if(asked_, [&](const auto& item) { return item.second.target == member; });
}

const Member* Prober::next_target(const View& view) {
  const auto find = [&](NodeId id) -> const Member* {
    const Member* member = id == view.self->id ? nullptr : view.find(id);
    return member && !is_asked(id) && may_ask(*member, view) ? member : nullptr;
  };
  while (!doubts_.empty()) {
    const NodeId id = doubts_.front();
    doubts_.erase(doubts_.begin());
    if (const Member* member = find(id)) return member;
  }
  for (bool is_refilled = false;;) {
    while (!line_.empty()) {
      const NodeId id = line_.back();
      line_.pop_back();
      if (const Member* member = find(id)) return member;
    }
    if (is_refilled || view.targets.empty()) return nullptr;
    is_refilled = true;
    line_.assign(view.targets.begin(), view.targets.end());
    prng_.shuffle(std::span(line_));
  }
}

// A helper can connect to this node and to the subject.
bool Prober::may_help(const Member& helper, const Member& subject, const View& view) {
  return helper.id != subject.id && can_meet(*view.self, helper) && can_meet(helper, subject);
}

bool Prober::may_ask(const Member& target, const View& view) {
  return can_meet(*view.self, target) || std::ranges::any_of(view.targets, [&](NodeId other) {
           return may_help(*view.find(other), target, view);
         });
}

void Prober::ask(Time now, const Member& target, const View& view, Outbox& out) {
  Asked& asked = asked_[++last_number_];
  asked = {.target = target.id, .sent = now, .wait = patience()};
  asked.by_others = !can_meet(*view.self, target);
  if (asked.by_others) return ask_others(now, last_number_, asked, view, out);
  out.send(target.id,
           Probe{Probe::Kind::ping, last_number_, target.id, view.news(target.id), view.ranges});
}

void Prober::ask_others(Time now, std::uint64_t number, Asked& asked, const View& view,
                        Outbox& out) {
  asked.requested_at = now;
  std::vector<const Member*> helpers;
  const Member* subject = view.find(asked.target);
  if (!subject) return;
  for (const NodeId id : view.targets)
    if (const Member* member = view.find(id); may_help(*member, *subject, view))
      helpers.push_back(member);
  if (!is_hidden(*subject)) out.put(ConnectProbe{subject->id});
  prng_.shuffle(std::span(helpers));
  helpers.resize(std::min(helpers.size(), kHelpers));
  asked.helpers = helpers.size();
  for (const Member* helper : helpers)
    out.send(helper->id,
             Probe{Probe::Kind::request, number, subject->id, view.news(helper->id), {}});
}

void Prober::receive(Time now, NodeId from, const Probe& probe, const View& view, NodeId self,
                     Outbox& out) {
  switch (probe.kind) {
    case Probe::Kind::ping:
      if (probe.subject == self)
        out.send(from, Probe{Probe::Kind::ack, probe.number, self, view.news({}), view.ranges});
      break;
    case Probe::Kind::request:
      relay(now, from, probe, view, out);
      break;
    case Probe::Kind::ack:
      answered(now, probe, view, out);
      break;
    case Probe::Kind::nack:
      if (const auto found = asked_.find(probe.number); found != asked_.end())
        ++found->second.nacks;
      break;
  }
}

void Prober::relay(Time now, NodeId from, const Probe& probe, const View& view, Outbox& out) {
  // Only a member is probed.
  if (probe.subject == view.self->id || !view.find(probe.subject) || relays_.size() >= kRelaysLimit)
    return;
  const Duration wait = patience();
  relays_[++last_number_] = {from, probe.number, probe.subject, now + wait, now + 3 * wait, false};
  out.send(probe.subject, Probe{Probe::Kind::ping, last_number_, probe.subject,
                                view.news(probe.subject), view.ranges});
}

void Prober::answered(Time now, const Probe& probe, const View& view, Outbox& out) {
  if (const auto found = relays_.find(probe.number); found != relays_.end()) {
    const Relay& relay = found->second;
    if (relay.subject == probe.subject)
      out.send(relay.asker, indirect_ack(relay.number, relay.subject, view.find(relay.subject)));
    relays_.erase(found);
    return;
  }
  const auto found = asked_.find(probe.number);
  if (found == asked_.end() || found->second.target != probe.subject) return;
  if (!found->second.requested()) measure(now - found->second.sent);
  health_ = std::max(0, health_ - 1);
  asked_.erase(found);
}

void Prober::measure(Duration round_trip) {
  const double sample = seconds(round_trip);
  if (round_trip_s_ == 0) {
    round_trip_s_ = sample;
    deviation_s_ = sample / 2;
    return;
  }
  deviation_s_ = 0.75 * deviation_s_ + 0.25 * std::abs(sample - round_trip_s_);
  round_trip_s_ = 0.875 * round_trip_s_ + 0.125 * sample;
}

void Prober::worsen(int amount) {
  health_ = std::min(kHealthWorst, health_ + amount);
}

void Prober::was_away(Duration away) {
  for (auto& [number, asked] : asked_) {
    asked.sent += away;
    if (asked.requested()) asked.requested_at += away;
  }
  for (auto& [number, relay] : relays_) relay.nack += away, relay.end += away;
  worsen(1 + static_cast<int>(std::min<Duration::rep>(kHealthWorst, away / timing_.period)));
}

}  // namespace starling::gossip
