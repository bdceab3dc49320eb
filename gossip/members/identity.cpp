#include "gossip/members/identity.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "gossip/members/evidence.h"
#include "gossip/members/terms.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {
namespace {

constexpr Duration kAskRivalEvery = std::chrono::milliseconds(500);
// A namesake that other members took for this node counts as gone when it is silent for this long.
constexpr Duration kAnswerPatience = std::chrono::seconds(3);
// How long a namesake is remembered. Larger: the status warns longer of one that has ended.
constexpr Duration kRememberDuplicate = std::chrono::seconds(15);
// No honest node reaches this version. A node exceeds a claim above it with a new incarnation, so
// that versions do not run out.
constexpr std::uint64_t kVersionsEnough = kVersionLimit / 2;

// As the node starts.
Member first_record(const Options& options) {
  Member self;
  self.id = node_id(options.name);
  self.name = options.name;
  self.control = options.control;
  self.http = options.http;
  self.incarnation = options.incarnation;
  self.agreement = agreement_of(agreed(options));
  self.role = options.role;
  self.group = options.group;
  if (options.credentials) self.certificate = encode(options.credentials->certificate);
  return self;
}

}  // namespace

Identity::Identity(const Options& options, Time now)
    : clock_(options.clock),
      started_(now),
      self_(first_record(options)),
      is_accepted_(options.seeds.empty()) {}

bool Identity::is_credible(Time now, const Member& member) const {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_).count();
  return member.incarnation <= latest_incarnation(clock_ + static_cast<std::uint64_t>(age));
}

bool Identity::hear(Time now, const Rumor& rumor, Outbox& out) {
  const Member& heard = *rumor.member;
  if (self_->phase == Phase::left) return false;
  if (heard.control == self_->control) return hear_of_self(rumor, out);
  if (rumor.liveness >= Liveness::dead) {
    if (rival_ && rival_->member->incarnation <= heard.incarnation) rival_.reset();
    if (heard.incarnation < self_->incarnation) return false;
    outdo(heard.incarnation, out);
    return true;
  }
  // The rumor may be of an earlier incarnation of this node that other members consider alive.
  note(now, rumor.member);
  if (is_accepted_ && heard.incarnation >= self_->incarnation) tell(out);
  if (rival_->asked_since == kNever) rival_->asked_since = rival_->next_ask = now;
  return false;
}

bool Identity::hear_of_self(const Rumor& rumor, Outbox& out) {
  const Member& heard = *rumor.member;
  if (heard.incarnation < self_->incarnation) return false;
  if (heard.incarnation > self_->incarnation) {
    outdo(heard.incarnation, out);
    return true;
  }
  if (heard.version < self_->version) return false;
  const bool is_true = heard.version == self_->version && !contradicts(heard, *self_);
  if (rumor.liveness == Liveness::alive && is_true) return false;
  if (PLANTED(refutation_lost) || PLANTED(phase_untold)) return false;
  if (heard.version >= kVersionsEnough)
    outdo(heard.incarnation, out);
  else
    self_.change([&](Member& self) { self.version = heard.version + 1; });
  return true;
}

void Identity::outdo(std::uint64_t incarnation, Outbox& out) {
  self_.change([&](Member& self) {
    self.incarnation = std::max(self.incarnation, incarnation) + 1;
    self.version = 0;
  });
  ENSURE(self_->incarnation < kIncarnationLimit, "only what can be outdone is believed");
  out.set_incarnation(self_->incarnation);
}

void Identity::note(Time now, const Record& rival) {
  if (!rival_ || rival_->member->control != rival->control) rival_ = Rival{rival, now};
  rival_->member = rival;
  rival_->heard = now;
}

void Identity::tell(Outbox& out) {
  if (std::exchange(rival_->is_told, true)) return;
  out.event(Event::Kind::problem, fmt::format("{} runs under this node's name",
                                              located("another node", rival_->member->control)));
}

// An accepted node keeps the name, and so does the first of two that are not accepted yet: it sends
// its table to the namesake, which ends.
void Identity::meet(Time now, const Join& join, Outbox& out) {
  if (join.self.id != self_->id || join.self.control == self_->control) return;
  note(now, join.self);
  tell(out);
  if (rival_->asked_since != kNever) rival_->asked_since = now;
  if (is_accepted_ || is_before(join.self))
    out.answer(self_->id, join.self.control, Table{false, {{self_}}});
}

void Identity::meet(Time now, const Table& table, Outbox& out) {
  const Member& other = table.rumors.front().member;
  if (other.id != self_->id || other.control == self_->control) return;
  if (is_accepted_ && is_before(other)) return meet(now, Join{other}, out);
  defeat_ = fmt::format(
      "node.name = \"{}\": {} runs under this name; choose another name, or stop that node first",
      self_->name, located("the node", other.control));
}

// Which of two namesakes stays. Both may have been accepted, in parts of the network that did not
// know each other.
bool Identity::is_before(const Member& other) const {
  return std::pair(self_->incarnation, to_string(self_->control)) <
         std::pair(other.incarnation, to_string(other.control));
}

void Identity::accepted() {
  if (!is_accepted_) rival_.reset();
  is_accepted_ = true;
}

bool Identity::refused(const Endpoint& at, Outbox& out) {
  return rival_ && rival_->member->control == at && outdo_rival(out);
}

// A confirmed duplicate is remembered for a while, so that the status still warns of it.
bool Identity::outdo_rival(Outbox& out) {
  const std::uint64_t incarnation = rival_->member->incarnation;
  rival_->asked_since = rival_->next_ask = kNever;
  if (!is_accepted_ || !rival_->is_told) rival_.reset();
  if (incarnation < self_->incarnation) return false;
  outdo(incarnation, out);
  return true;
}

bool Identity::tick(Time now, Outbox& out) {
  if (!rival_) return false;
  if (now - rival_->heard >= kRememberDuplicate) {
    rival_.reset();
    return false;
  }
  if (now < rival_->next_ask) return false;
  // While this node is not accepted, the members find out whether the namesake lives.
  if (is_accepted_ && now - rival_->asked_since >= kAnswerPatience) return outdo_rival(out);
  rival_->next_ask = now + kAskRivalEvery;
  out.put(ConnectProbe{{}, rival_->member->control});
  out.introduce(rival_->member->control, Join{self_});
  return false;
}

Time Identity::deadline() const {
  return rival_ ? std::min(rival_->next_ask, rival_->heard + kRememberDuplicate) : kNever;
}

Identity::News Identity::update(const Report& report) {
  const Member& self = *self_;
  if (report == self.report()) return News::none;
  const bool saves_with_all =
      report.save_at > 0 && report.saved >= report.save_at && self.saved < report.save_at;
  const bool is_other_state = self.state() != report.state() || saves_with_all;
  const bool waits_otherwise = (self.held.percent > 0) != (report.held.percent > 0) ||
                               self.wished_steps != report.wished_steps;
  const bool is_news = is_other_state || waits_otherwise;
  self_.change([&](Member& changed) {
    changed.report() = report;
    if (is_news && !PLANTED(phase_untold)) ++changed.version;
  });
  if (!is_news) return News::none;
  if (report.phase != Phase::joining) accepted();
  return is_other_state ? News::state : News::waits;
}

void Identity::set_unreachable(bool is_unreachable) {
  self_.change([&](Member& self) {
    self.is_unreachable = is_unreachable;
    ++self.version;
  });
}

void Identity::leave() {
  self_.change([](Member& self) {
    self.phase = Phase::left;
    ++self.version;
  });
}

std::optional<Endpoint> Identity::namesake() const {
  return rival_ && rival_->is_told ? std::optional(rival_->member->control) : std::nullopt;
}

}  // namespace starling::gossip
