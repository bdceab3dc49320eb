#include "gossip/edges/sessions.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/prng.h"

namespace starling::gossip {
namespace {

// Closing sessions that are kept, settled ones included. Larger: more memory when members come and
// go often. Smaller: sessions are abandoned before they are settled.
constexpr std::size_t kClosingLimit = 64;
// The longest time from the peer's closing of a session to the end of its link.
constexpr Duration kClosePatience = std::chrono::seconds(2);
// The upper limit of the shortest pause between requests in a closing session: a node that leaves
// does not wait for long. Shorter: more small messages over a slow link.
constexpr Duration kClosingPause = std::chrono::milliseconds(100);

}  // namespace

bool Sessions::Session::is_of(const Link& link) const {
  return link.wanted.peer == peer && link.epoch == epoch && link.peer_epoch == peer_epoch &&
         link.peer_incarnation == incarnation;
}

template <class Visit>
void Sessions::for_each(Visit visit) {
  for (auto& [peer, session] : open_) visit(session);
  for (Session& session : closing_) visit(session);
}

Sessions::Session& Sessions::open(const Link& link) {
  const bool has_closed = !open_.contains(link.wanted.peer) && !next_number(link);
  const auto [item, is_new] = open_.try_emplace(link.wanted.peer);
  Session& session = item->second;
  // Whether the edge continues from an earlier run is known once it is active.
  session.edge = link.edge_id();
  if (!is_new) return session;
  session.ledger = EdgeLedger(order_);
  session.peer = link.wanted.peer;
  session.incarnation = link.peer_incarnation;
  session.epoch = link.epoch;
  session.peer_epoch = link.peer_epoch;
  session.skipped_round = skipped_round_;
  session.stream.set_pause(kPauseInitial);
  session.least_pause = 2 * kPauseLeast;
  if (has_closed) broken_.push_back(session.peer);
  return session;
}

void Sessions::follow(Time now, const Links& links, const Roster& members, Outbox& out) {
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
    return has_ended(members, session.peer, session.incarnation) && !session.ledger.has_pairs();
  });
}

void Sessions::renew(EdgeLedger::Order order) {
  order_ = order;
  for (Session& session : closing_)
    if (!std::exchange(session.is_outdated, true)) abandoned_ += !session.ledger.is_settled();
}

void Sessions::begin_closing(Time now, Session session, Outbox& out) {
  session.ledger.close();
  if (PLANTED(edge_one_sided)) session.ledger.take();
  session.current = session.skipped_round = 0;
  session.stream.await_round(0);
  session.stream.set_pause(2 * kPauseLeast);
  session.least_pause = std::min(session.least_pause, kClosingPause);
  if (session.ledger.is_open_question()) {
    say(now, session, true, out);
    session.stream.plan(now + session.stream.pause());
  }
  closing_.push_back(std::move(session));
  if (closing_.size() <= kClosingLimit) return;
  const auto settled = std::ranges::find_if(
      closing_, [](const Session& other) { return other.ledger.is_settled(); });
  if (settled == closing_.end()) ++abandoned_;
  closing_.erase(settled == closing_.end() ? closing_.begin() : settled);
}

bool Sessions::offer(Time now, const Link& link, EdgeVector own, bool skips_round,
                     const Waits& waits, Round& message) {
  Session& session = open(link);
  Stream& stream = session.stream;
  session.idle_pause = std::min(waits.idle, kPauseLimit);
  session.least_pause = first_pause(link);
  stream.set_pause(session.least_pause);
  const bool takes_part = !skips_round && session.ledger.takes_part();
  session.skipped_round = takes_part ? 0 : own.round;
  stream.await_round(waits.for_round ? own.round : 0);
  session.current = takes_part ? session.ledger.offer(std::move(own)) : 0;
  // The new round does not delay a request that is due earlier.
  if (session.ledger.is_waiting() || stream.awaits_round())
    stream.plan(std::min(stream.ask_at(), now + waits.usual * 3 / 2 + stream.pause()));
  write_header(session, message);
  stream.number(message);
  message.number = session.current;
  if (takes_part) session.ledger.sent().mark_sent(session.current, message.order);
  return takes_part;
}

std::optional<std::uint64_t> Sessions::next_number(const Link& link) const {
  const auto found = open_.find(link.wanted.peer);
  if (found == open_.end() || !found->second.is_of(link)) {
    // An edge whose session is closing gets no second session: it must be reopened.
    const auto is_of = [&](const Session& old) { return old.is_of(link); };
    return std::ranges::any_of(closing_, is_of) ? std::nullopt : std::optional<std::uint64_t>(1);
  }
  const EdgeLedger& ledger = found->second.ledger;
  return ledger.takes_part() ? std::optional(ledger.sent().last() + 1) : std::nullopt;
}

void Sessions::skip(std::uint64_t round) {
  skipped_round_ = round;
  for (auto& [peer, session] : open_) {
    session.current = 0;
    session.skipped_round = round;
  }
}

void Sessions::go_on(Time now) {
  for (auto& [peer, session] : open_) {
    Stream& stream = session.stream;
    stream.await_round(0);
    stream.set_pause(session.idle_pause);
    const Time usual = std::exchange(session.progressed, false) ? kNever : stream.ask_at();
    const bool asks = session.ledger.is_open_question() || session.ledger.is_waiting();
    stream.plan(asks ? std::min(usual, now + stream.pause()) : kNever);
  }
}

// Writes the part that every message of the session has.
void Sessions::write_header(const Session& session, Round& message) const {
  message.epoch = session.epoch;
  message.echo = session.peer_epoch;
  message.received = session.ledger.received().up_to();
  message.beyond = session.ledger.received().beyond();
  message.partial = session.partial;
  message.offered = session.ledger.sent().last();
  message.closes = session.ledger.is_closed();
}

PairState Sessions::pairs(NodeId peer) const {
  const auto found = open_.find(peer);
  if (found == open_.end()) return {};
  const EdgeLedger& ledger = found->second.ledger;
  const bool is_open = !ledger.is_closed();
  return {.has_gap = is_open && ledger.received().has_gap(),
          .is_owed = is_open && ledger.lacks(),
          .is_waiting = ledger.is_waiting(),
          .is_asked = is_open && ledger.is_asked(),
          .next_round = ledger.round_of_next(),
          .owes_mean = ledger.owes_mean(),
          .mean_of = ledger.round_of_mean()};
}

std::vector<Sessions::Mixable> Sessions::take() {
  std::vector<Mixable> mixables;
  for_each([&](Session& session) {
    for (EdgeLedger::Pair& pair : session.ledger.take()) {
      if (session.is_outdated) continue;
      session.taken ^= mix64(pair.number);
      mixables.push_back({session.peer, session.edge, std::move(pair)});
    }
  });
  return mixables;
}

std::uint64_t Sessions::taken(NodeId peer) const {
  const auto found = open_.find(peer);
  return found == open_.end() ? 0 : found->second.taken;
}

bool Sessions::has_pairs() const {
  const auto has = [](const Session& session) { return session.ledger.has_pairs(); };
  return std::ranges::any_of(open_, [&](const auto& item) { return has(item.second); }) ||
         std::ranges::any_of(closing_, has);
}

std::vector<std::uint64_t> Sessions::ending() const {
  std::vector<std::uint64_t> edges;
  for (const Session& session : closing_) edges.push_back(session.edge);
  return edges;
}

void Sessions::reject(Time now, NodeId peer) {
  if (const auto found = open_.find(peer); found != open_.end()) found->second.broken_at = now;
}

// ---------------------------------------------------------------- messages

// The peer's end may be active a moment before this one.
Sessions::Session* Sessions::find_or_open(const Envelope& from, const Round& message,
                                          const Links& links) {
  Session* found = nullptr;
  for_each([&](Session& session) {
    if (session.peer == from.sender && session.incarnation == from.incarnation &&
        session.epoch == message.echo && session.peer_epoch == message.epoch)
      found = &session;
  });
  if (found) return found;
  const auto link = links.all().find(from.sender);
  if (link == links.all().end() || link->second.epoch != message.echo ||
      link->second.peer_epoch != message.epoch || link->second.peer_incarnation != from.incarnation)
    return nullptr;
  return &open(link->second);
}

// An honest peer has seen no more than this end has sent, never takes back an acknowledgement or an
// offer, and closes its link soon after the session.
void Sessions::find_contradiction(Time now, Session& session, const Round& message) {
  const bool is_newest = message.order > session.stream.heard();
  const bool goes_back = message.received < session.ledger.sent().acknowledged() ||
                         message.offered < session.ledger.received().announced();
  if (message.seen > session.stream.order() || (is_newest && goes_back)) session.broken_at = now;
  if (message.closes) session.broken_at = std::min(session.broken_at, now + kClosePatience);
}

// Returns whether the message repeats a known vector.
bool Sessions::take_in(Session& session, const Round& message, Payload payload) {
  EdgeLedger& ledger = session.ledger;
  const std::uint64_t received = ledger.received().up_to();
  bool is_known = false;
  if (message.number > 0)
    is_known = !ledger.receive(message.number, {message.terms(), std::move(payload)});
  if (ledger.received().up_to() != received) session.partial = 0;
  ledger.announced(message.offered);
  if (message.closes) ledger.closed_at(message.offered);
  return is_known;
}

Sessions::Heard Sessions::receive(Time now, const Envelope& from, const Round& message,
                                  Payload payload, const Links& links, bool is_idle, Outbox& out) {
  Session* session = find_or_open(from, message, links);
  if (!session) return Heard::foreign;
  EdgeLedger& ledger = session->ledger;
  find_contradiction(now, *session, message);
  const bool is_answered = ledger.acknowledge(message.received, message.beyond);
  session->stream.hear(message, ledger.sent());
  const bool is_known = take_in(*session, message, std::move(payload));
  session->progressed = session->progressed || is_answered || (message.number > 0 && !is_known);
  Round header;
  write_header(*session, header);
  session->repeated_bytes +=
      session->stream.retransmit(ledger.sent(), message, header, session->peer, out);
  plan_question(now, *session, is_answered);
  if (message.asks)
    say(now, *session, session->must_ask_back(now, message), out);
  else if (is_known ||
           (message.number > 0 && (is_idle || ledger.is_closed() || ledger.received().has_gap())))
    say(now, *session, false, out);
  return is_known ? Heard::known : Heard::fresh;
}

void Sessions::plan_question(Time now, Session& session, bool is_answered) const {
  const EdgeLedger& ledger = session.ledger;
  Stream& stream = session.stream;
  if (!ledger.is_open_question() && !ledger.is_waiting() && !stream.awaits_round())
    stream.plan(kNever);
  else if (is_answered || !stream.is_planned())
    stream.plan(now + stream.pause());
  // The peer answers, but a vector that it offered does not arrive: the pause stays short.
  if (!ledger.lacks()) return;
  stream.set_pause(session.least_pause);
  stream.plan(std::min(stream.ask_at(), now + stream.pause()));
}

bool Sessions::Session::must_ask_back(Time now, const Round& message) const {
  const SendWindow& sent = ledger.sent();
  return message.received < sent.last() && stream.may_ask_back(now, sent, least_pause);
}

// Sends an acknowledgement; with `asks`, it also requests one.
void Sessions::say(Time now, Session& session, bool asks, Outbox& out) const {
  Round message;
  write_header(session, message);
  session.stream.number(message);
  if (asks) session.stream.ask(now, message);
  message.round = session.skipped_round;  // the peer may not know of the skip
  out.send(session.peer, std::move(message));
}

void Sessions::hear_part(Time now, const Assembler::Part& part) {
  for_each([&](Session& session) {
    const std::uint64_t missing = session.ledger.received().up_to() + 1;
    if (session.peer != part.sender ||
        transfer_of(session.incarnation, session.peer_epoch, missing) != part.transfer)
      return;
    session.partial = part.bytes;
    // The chunk acknowledges too, so that vectors are not kept until this one is complete.
    session.progressed |= session.ledger.acknowledge(part.received, part.beyond);
    // The vector is arriving: delay the request.
    Stream& stream = session.stream;
    if (stream.is_planned()) stream.plan(std::max(stream.ask_at(), now + stream.pause()));
  });
}

void Sessions::tick(Time now, Outbox& out) {
  for (auto& [peer, session] : open_)
    if (now >= session.broken_at) {
      session.broken_at = kNever;
      if (!PLANTED(keeps_broken_edge)) broken_.push_back(peer);
    }
  for_each([&](Session& session) {
    if (now < session.stream.ask_at()) return;
    say(now, session, true, out);
    session.stream.back_off(now, session.ledger.is_closed());
  });
}

Time Sessions::deadline() const {
  Time next = kNever;
  for (const auto& [peer, session] : open_)
    next = std::min({next, session.stream.ask_at(), session.broken_at});
  for (const Session& session : closing_) next = std::min(next, session.stream.ask_at());
  return next;
}

void Sessions::close_all(Time now, Outbox& out) {
  for (auto& [peer, session] : open_) begin_closing(now, std::move(session), out);
  open_.clear();
}

// ---------------------------------------------------------------- status

bool Sessions::is_settled(const Roster& members) const {
  return open_.empty() && std::ranges::all_of(closing_, [&](const Session& session) {
           return session.ledger.is_settled() || !members.find(session.peer);
         });
}

std::size_t Sessions::unsettled() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      closing_, [](const Session& session) { return !session.ledger.is_settled(); }));
}

std::size_t Sessions::late() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(open_, [](const auto& item) { return item.second.ledger.is_late(); }));
}

std::uint64_t Sessions::repeated_bytes(NodeId peer) const {
  const auto found = open_.find(peer);
  return found == open_.end() ? 0 : found->second.repeated_bytes;
}

std::uint64_t Sessions::unconfirmed_bytes(NodeId peer) const {
  const auto found = open_.find(peer);
  return found == open_.end() ? 0 : found->second.ledger.sent().unconfirmed_bytes();
}

}  // namespace starling::gossip
