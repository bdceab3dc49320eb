#include "gossip/sessions.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

// Closing sessions that are kept, settled ones included. Larger: more memory under churn.
constexpr std::size_t kClosingLimit = 64;
// Between questions: before the first offer, at least and at most. More often: less time lost with
// a message, more small messages where all is well but slow.
constexpr Duration kPauseInitial = std::chrono::milliseconds(500);
constexpr Duration kPauseLeast = std::chrono::milliseconds(10);

}  // namespace

Duration first_pause(const Link& link) {
  const std::chrono::duration<double> round_trips(4 * link.rtt_s.value_or(0));
  return kPauseLeast + std::min(std::chrono::duration_cast<Duration>(round_trips), kPauseInitial);
}

bool Sessions::Session::is_of(const Link& link) const {
  return link.epoch == epoch && link.peer_epoch == peer_epoch &&
         link.peer_incarnation == incarnation;
}

template <class Visit>
void Sessions::for_each(Visit visit) {
  for (auto& [peer, session] : open_) visit(session);
  for (Session& session : closing_) visit(session);
}

Sessions::Session& Sessions::open(const Link& link) {
  const auto [item, is_new] = open_.try_emplace(link.wish.peer);
  Session& session = item->second;
  if (!is_new) return session;
  session.peer = link.wish.peer;
  session.edge = link.life();
  session.incarnation = link.peer_incarnation;
  session.epoch = link.epoch;
  session.peer_epoch = link.peer_epoch;
  session.bulk = link.bulk;
  session.pause = kPauseInitial;
  session.least_pause = 2 * kPauseLeast;
  return session;
}

void Sessions::follow(Time now, const Links& links, const Membership& members, Outbox& out) {
  for (auto item = open_.begin(); item != open_.end();) {
    const auto link = links.all().find(item->first);
    if (link != links.all().end() && item->second.is_of(link->second)) {
      ++item;
      continue;
    }
    Session session = std::move(item->second);
    item = open_.erase(item);
    begin_closing(now, std::move(session), out);
  }
  std::erase_if(closing_, [&](const Session& session) {
    return members.has_ended(session.peer, session.incarnation) && !session.ledger.has_pairs();
  });
}

void Sessions::begin_closing(Time now, Session session, Outbox& out) {
  session.ledger.close();
  if (PLANTED(edge_one_sided)) session.ledger.take();
  session.current = session.sat_out = 0;
  session.pause = 2 * kPauseLeast;
  if (session.ledger.is_open_question()) {
    say(session, Round::Word::question, out);
    session.ask_at = now + session.pause;
  }
  closing_.push_back(std::move(session));
  if (closing_.size() <= kClosingLimit) return;
  const auto settled = std::ranges::find_if(
      closing_, [](const Session& other) { return other.ledger.is_settled(); });
  if (settled == closing_.end()) ++abandoned_;
  closing_.erase(settled == closing_.end() ? closing_.begin() : settled);
}

bool Sessions::offer(Time now, const Link& link, EdgeLedger::Vector own, bool sits_out,
                     Duration pause, Round& message) {
  Session& session = open(link);
  session.patience = std::min(pause, kPauseLimit);
  session.least_pause = first_pause(link);
  session.pause = session.least_pause;
  const bool takes_part = !sits_out && session.ledger.takes_part();
  session.sat_out = takes_part ? 0 : own.round;
  session.current = takes_part ? session.ledger.offer(std::move(own)) : 0;
  // What was to be asked before is not put off by the new round.
  if (session.ledger.is_waiting()) session.ask_at = std::min(session.ask_at, now + session.pause);
  write(session, message);
  message.index = session.current;
  return takes_part;
}

void Sessions::go_on(Time now) {
  for (auto& [peer, session] : open_) {
    session.pause = session.patience;
    const Time usual = std::exchange(session.progressed, false) ? kNever : session.ask_at;
    const bool asks = session.ledger.is_open_question() || session.ledger.is_waiting();
    session.ask_at = asks ? std::min(usual, now + session.pause) : kNever;
  }
}

void Sessions::write(const Session& session, Round& message) const {
  message.epoch = session.epoch;
  message.echo = session.peer_epoch;
  message.received = session.ledger.received();
  message.offered = session.ledger.last();
  message.closes = session.ledger.is_closed();
}

bool Sessions::has_gap(NodeId peer) const {
  const auto found = open_.find(peer);
  return found != open_.end() && !found->second.ledger.is_closed() &&
         found->second.ledger.has_gap();
}

std::vector<Sessions::Mixable> Sessions::take() {
  std::vector<Mixable> mixables;
  for_each([&](Session& session) {
    for (EdgeLedger::Pair& pair : session.ledger.take()) {
      const bool is_current = pair.index == session.current;
      mixables.push_back({session.peer, session.edge, std::move(pair), is_current});
    }
  });
  return mixables;
}

bool Sessions::is_waiting(NodeId peer) const {
  const auto found = open_.find(peer);
  return found != open_.end() && found->second.ledger.is_waiting();
}

bool Sessions::is_asked(NodeId peer) const {
  const auto found = open_.find(peer);
  return found != open_.end() && !found->second.ledger.is_closed() &&
         found->second.ledger.is_asked();
}

bool Sessions::has_pairs() const {
  const auto has = [](const Session& session) { return session.ledger.has_pairs(); };
  return std::ranges::any_of(open_, [&](const auto& item) { return has(item.second); }) ||
         std::ranges::any_of(closing_, has);
}

Sessions::Session* Sessions::find(const Envelope& from, const Round& message) {
  Session* found = nullptr;
  for_each([&](Session& session) {
    if (session.peer == from.sender && session.incarnation == from.incarnation &&
        session.epoch == message.echo && session.peer_epoch == message.epoch)
      found = &session;
  });
  return found;
}

Sessions::Heard Sessions::receive(Time now, const Envelope& from, const Round& message,
                                  Payload payload, const Links& links, bool is_idle, Outbox& out) {
  Session* session = find(from, message);
  if (!session) {
    const auto link = links.all().find(from.sender);
    // The other end may be active a moment before this one.
    if (link == links.all().end() || link->second.epoch != message.echo ||
        link->second.peer_epoch != message.epoch ||
        link->second.peer_incarnation != from.incarnation)
      return Heard::foreign;
    session = &open(link->second);
  }
  EdgeLedger& ledger = session->ledger;
  const bool is_answered = ledger.acknowledge(message.received);
  bool is_known = false;
  if (message.index > 0)
    is_known = !ledger.receive(message.index, {message.round, message.degree, std::move(payload)});
  ledger.announced(message.offered);
  if (message.closes) ledger.closed_at(message.offered);
  session->progressed = session->progressed || is_answered || (message.index > 0 && !is_known);
  if (message.word == Round::Word::answer) send_again(now, *session, out);
  if (!ledger.is_open_question() && !ledger.is_waiting())
    session->ask_at = kNever;
  else if (is_answered || session->ask_at == kNever)
    session->ask_at = now + session->pause;
  // It answers, but what it has offered does not come: no reason to ask less often.
  if (ledger.lacks()) {
    session->pause = session->least_pause;
    session->ask_at = std::min(session->ask_at, now + session->pause);
  }
  if (const auto missing = ledger.first_unacknowledged();
      missing && (*missing < message.index || message.word == Round::Word::question))
    may_be_lost(now, *session, *missing, out);
  if (message.word == Round::Word::question || (!is_known && message.index > 0 && ledger.has_gap()))
    say(*session, Round::Word::answer, out);
  else if (is_known || (message.index > 0 && (is_idle || ledger.is_closed())))
    say(*session, Round::Word::none, out);
  return is_known ? Heard::known : Heard::fresh;
}

// The other end went on without the vector, or waits for it.
void Sessions::may_be_lost(Time now, Session& session, std::uint64_t index, Outbox& out) const {
  if (session.ledger.own(index).payload.size() <= kSmallBytes) return send_again(now, session, out);
  if (index <= session.passed) return;
  session.passed = index;
  session.ask_at = now;
}

void Sessions::send_again(Time now, Session& session, Outbox& out) const {
  const auto index = session.ledger.first_unacknowledged();
  if (!index || now < session.again_at) return;
  session.again_at = now + kPauseLeast;
  const EdgeLedger::Vector& own = session.ledger.own(*index);
  Round message;
  write(session, message);
  message.round = own.round;
  message.degree = own.degree;
  message.index = *index;
  out.send(session.bulk, std::move(message), own.payload);
}

void Sessions::say(const Session& session, Round::Word word, Outbox& out) const {
  Round message;
  write(session, message);
  message.word = word;
  message.round = session.sat_out;  // it may not have heard that
  out.send(session.bulk, std::move(message));
}

void Sessions::tick(Time now, Outbox& out) {
  for_each([&](Session& session) {
    if (now < session.ask_at) return;
    say(session, Round::Word::question, out);
    session.ask_at = now + session.pause;
    // One that closes may keep somebody from leaving.
    const bool is_urgent = session.ledger.is_closed();
    session.pause = std::min(session.pause * (is_urgent ? 5 : 6) / 4, kPauseLimit);
  });
}

Time Sessions::deadline() const {
  Time next = kNever;
  for (const auto& [peer, session] : open_) next = std::min(next, session.ask_at);
  for (const Session& session : closing_) next = std::min(next, session.ask_at);
  return next;
}

void Sessions::close_all(Time now, Outbox& out) {
  for (auto& [peer, session] : open_) begin_closing(now, std::move(session), out);
  open_.clear();
}

bool Sessions::is_settled() const {
  return open_.empty() && unsettled() == 0;
}

std::size_t Sessions::unsettled() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      closing_, [](const Session& session) { return !session.ledger.is_settled(); }));
}

}  // namespace starling::gossip
