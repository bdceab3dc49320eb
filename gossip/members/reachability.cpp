#include "gossip/members/reachability.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace starling::gossip {
namespace {

// The time between two tests. Longer: an opened port is noticed later. Shorter: more connections.
constexpr Duration kTestEvery = std::chrono::minutes(1);
// After this a call counts as successful, as far as the caller can see. Longer than a driver takes
// to find that no host answers (daemon/process/connect_prober.h).
constexpr Duration kCallPatience = std::chrono::milliseconds(2500);
// A member that has not answered by then does not count.
constexpr Duration kAnswersPatience = std::chrono::seconds(4);
constexpr std::size_t kAskedAtOnce = 3;
// Members for which this node dials at once. Larger: members can make it dial more addresses.
constexpr std::size_t kCallsLimit = 16;

// The first 24 bits of an IPv4 address, the first four groups of an IPv6 address, or a whole name.
std::string_view network_of(const Endpoint& at) {
  const std::string_view host = at.host;
  if (!is_numeric(at)) return host;
  if (const auto dot = host.rfind('.'); dot != host.npos) return host.substr(0, dot);
  std::size_t end = 0;
  for (int groups = 0; groups < 4 && end != host.npos; ++groups) end = host.find(':', end + 1);
  return host.substr(0, end);
}

}  // namespace

Reachability::Reachability(const Options& options, const Roster& roster, Prng& prng, Time now)
    : roster_(roster),
      prng_(prng),
      control_(options.control),
      period_(options.timing.period),
      next_test_(options.tests_address && options.control.port != 0 ? now : kNever) {}

void Reachability::receive(Time now, NodeId from, const DialBack& message, Outbox& out) {
  if (message.kind == DialBack::Kind::request) return call(now, from, message, out);
  const auto question = std::ranges::find_if(asked_, [&](const Question& asked) {
    return asked.to == from && asked.number == message.number;
  });
  if (question == asked_.end()) return;
  if (message.kind == DialBack::Kind::call)
    question->is_called = true;
  else  // without a call another machine has the address
    question->is_closed = message.is_closed || !question->is_called;
}

// ---------------------------------------------------------------- for others

// The addresses are the asker's claim, as those in its record are.
void Reachability::call(Time now, NodeId from, const DialBack& request, Outbox& out) {
  const Member* asker = roster_.find(from);
  const bool is_busy =
      calls_.size() >= kCallsLimit || std::ranges::find(calls_, from, &Call::asker) != calls_.end();
  if (!asker || is_busy || request.control.port == 0) return;
  calls_.push_back({from, request.number, request.control, now + kCallPatience});
  dial(calls_.back(), out);
}

// What is sent to a name without an address is dropped: see resolved().
void Reachability::dial(const Call& call, Outbox& out) const {
  const Member* asker = roster_.find(call.asker);
  if (!asker) return;
  out.call(call.control, contact_of(*asker).key, call.asker,
           DialBack{.kind = DialBack::Kind::call, .number = call.number, .control = call.control});
  out.put(ConnectProbe{{}, call.control});
}

void Reachability::resolved(const Endpoint& name, Outbox& out) const {
  for (const Call& call : calls_)
    if (call.control == name) dial(call, out);
}

void Reachability::answer(const Call& call, bool is_closed, Outbox& out) const {
  out.send(call.asker, DialBack{.kind = DialBack::Kind::answer,
                                .number = call.number,
                                .control = call.control,
                                .is_closed = is_closed});
  out.put(Abandon{call.control});
}

void Reachability::failed(const Endpoint& at, Outbox& out) {
  std::erase_if(calls_, [&](const Call& call) {
    if (call.control != at) return false;
    answer(call, true, out);
    return true;
  });
}

// ---------------------------------------------------------------- for this node

// Two nodes of which neither can dial the other exchange no messages, so hidden members are not
// asked, unless all count as hidden: then those answer that a seed has led to this node. Members of
// this node's network dial it without a NAT, so they are the last choice.
std::vector<const Member*> Reachability::askable() const {
  std::vector<const Member*> near, far;
  const bool asks_hidden = are_all_hidden(roster_);
  for (const NodeId id : roster_.present_others()) {
    const Roster::Entry& entry = *roster_.entry(id);
    const Member* member = &*entry.member;
    if ((is_hidden(*member) && !asks_hidden) || !entry.has_spoken) continue;
    const bool is_near = network_of(member->control) == network_of(control_);
    (is_near ? near : far).push_back(member);
  }
  return far.empty() ? near : far;
}

void Reachability::ask(Time now, Outbox& out) {
  std::vector<const Member*> members = askable();
  next_test_ = now + period_;
  if (members.empty()) return;
  prng_.shuffle(std::span(members));
  members.resize(std::min(members.size(), kAskedAtOnce));
  for (const Member* member : members) {
    asked_.push_back({.to = member->id, .name = member->name, .number = prng_.next()});
    out.send(member->id, DialBack{.number = asked_.back().number, .control = control_});
  }
  until_ = now + kAnswersPatience;
}

// Whether missing answers can no longer change the result, or the time for them is over.
bool Reachability::is_decided(Time now) const {
  const auto count = [&](bool is_closed) {
    return 2 * std::ranges::count(asked_, std::optional(is_closed), &Question::is_closed);
  };
  const auto all = std::ssize(asked_);
  return now >= until_ || count(false) > all || count(true) >= all;
}

std::optional<bool> Reachability::conclude(Time now) {
  const bool was_hidden = !against_.empty();
  std::vector<Question> asked = std::exchange(asked_, {});
  std::erase_if(asked, [](const Question& question) { return !question.is_closed; });
  next_test_ = now + (asked.empty() ? period_ : kTestEvery);
  if (asked.empty()) return std::nullopt;
  against_.clear();
  for (const Question& question : asked)
    if (*question.is_closed)
      against_.push_back(
          fmt::format("{} cannot reach this node at {}: others wait for this node to dial",
                      question.name, to_string(control_)));
  if (2 * against_.size() < asked.size()) against_.clear();
  const bool is_hidden = !against_.empty();
  return is_hidden == was_hidden ? std::nullopt : std::optional(is_hidden);
}

std::optional<bool> Reachability::tick(Time now, Outbox& out) {
  std::erase_if(calls_, [&](const Call& call) {
    if (now < call.until) return false;
    answer(call, false, out);
    return true;
  });
  if (!asked_.empty()) return is_decided(now) ? conclude(now) : std::nullopt;
  if (are_all_hidden(roster_)) next_test_ = std::min(next_test_, now + kAnswersPatience);
  if (now >= next_test_) ask(now, out);
  return std::nullopt;
}

Time Reachability::deadline() const {
  Time least = asked_.empty() ? next_test_ : until_;
  for (const Call& call : calls_) least = std::min(least, call.until);
  return least;
}

std::vector<std::string> Reachability::warnings() const {
  if (against_.empty()) return {};
  return {against_.front()};
}

}  // namespace starling::gossip
