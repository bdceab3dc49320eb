#include "gossip/edges/newest_stream.h"

#include <algorithm>
#include <utility>

#include "gossip/edges/sessions.h"

namespace starling::gossip {

NewestStream::Rules NewestStream::rules_of(const Options& options, bool by_round) {
  return {.once = options.needs.delivery == optim::Delivery::per_edge,
          .by_round = by_round,
          .reuses = options.missing != Missing::self};
}

// At another opening of the edge both ends number their messages from 1 again.
void NewestStream::begin(const Link& link) {
  if (std::exchange(edge_, link.edge_id()) == link.edge_id()) return;
  order_ = heard_ = vector_ = question_ = seen_ = 0;
  asked_at_ = {}, ask_at_ = kNever;
  pause_ = {};
}

void NewestStream::number(const Link& link, bool is_vector, Round& message) {
  begin(link);
  message.received = latest_ ? latest_->round : 0;
  message.order = ++order_;
  message.seen = heard_;
  if (is_vector) vector_ = order_;
}

void NewestStream::wait(Time now, const Link& link, Duration usual) {
  pause_ = first_pause(link);
  ask_at_ = now + usual + pause_;
}

void NewestStream::ask(Time now, const Link& link, Outbox& out) {
  say(now, link, true, out);
  ask_at_ = now + pause_;
  pause_ = std::min(pause_ * 5 / 4, kPauseLimit);
}

void NewestStream::say(Time now, const Link& link, bool asks, Outbox& out) {
  Round message;
  message.epoch = link.epoch;
  number(link, false, message);
  message.asks = asks;
  if (asks) {
    question_ = message.order;
    asked_at_ = now;
  }
  out.send(link.bulk, std::move(message));
}

bool NewestStream::hear(const Link& link, const Round& message, std::uint64_t round) {
  begin(link);
  heard_ = std::max(heard_, message.order);
  if (message.seen <= order_) seen_ = std::max(seen_, message.seen);
  return message.received < round && vector_ < seen_;
}

void NewestStream::answer(Time now, const Link& link, const Round& message, std::uint64_t round,
                          Outbox& out) {
  if (message.asks) say(now, link, message.received < round && may_ask_back(now), out);
}

// The peer has not confirmed this end's newest vector, and no recent question sent after the vector
// waits for an answer.
bool NewestStream::may_ask_back(Time now) const {
  if (vector_ == 0 || vector_ < seen_) return false;
  return vector_ > question_ || now - asked_at_ >= pause_;
}

void NewestStream::receive(HeardVector vector) {
  before_ = std::move(latest_);
  latest_ = std::move(vector);
}

// If the peer ran ahead, the older vector is nearer to this round.
HeardVector* NewestStream::vector_for(std::uint64_t round, const Rules& rules) {
  if (before_ && rules.by_round && before_->round >= round && !(rules.once && before_->is_taken))
    return &*before_;
  if (!latest_ || (rules.once && latest_->is_taken)) return nullptr;
  const bool is_old = rules.by_round && latest_->round < round;
  return is_old && !rules.reuses ? nullptr : &*latest_;
}

}  // namespace starling::gossip
