#include "gossip/edges/newest_stream.h"

#include <utility>

namespace starling::gossip {

NewestStream::Rules NewestStream::rules_of(const Options& options, bool by_round) {
  return {.once = options.needs.fanout == optim::Fanout::per_edge,
          .by_round = by_round,
          .reuses = options.missing != Missing::self && !options.topology.sequence.moves()};
}

// At a new opening of the edge both ends number their messages from 1.
void NewestStream::begin(const Link& link) {
  if (std::exchange(edge_, link.edge_id()) == link.edge_id()) return;
  stream_ = {};
  sent_ = {};
}

// Returns the part that every message of this end has.
Round NewestStream::header(const Link& link) const {
  Round message;
  message.epoch = link.epoch;
  message.received = latest_ ? latest_->round : 0;
  return message;
}

void NewestStream::offer(const Link& link, EdgeVector own, Round& message) {
  begin(link);
  message.received = header(link).received;
  stream_.number(message);
  sent_.mark_sent(sent_.offer(std::move(own)), message.order);
  sent_.keep_newest();
}

void NewestStream::wait(Time now, const Link& link, Duration usual) {
  stream_.set_pause(first_pause(link));
  stream_.plan(now + usual + stream_.pause());
}

void NewestStream::ask(Time now, const Link& link, Outbox& out) {
  begin(link);
  say(now, link, true, out);
  stream_.back_off(now);
}

void NewestStream::say(Time now, const Link& link, bool asks, Outbox& out) {
  Round message = header(link);
  stream_.number(message);
  if (asks) stream_.ask(now, message);
  out.send(link.wanted.peer, std::move(message));
}

std::uint64_t NewestStream::hear(Time now, const Link& link, const Round& message, Outbox& out) {
  begin(link);
  stream_.hear(message, sent_);
  // On an edge without numbered vectors the peer acknowledges by the round of the vector.
  const bool has_come = sent_.last() > 0 && message.received >= sent_.at(sent_.last()).round;
  if (has_come) sent_.acknowledge(sent_.last(), 0);
  const std::uint64_t repeated =
      stream_.retransmit(sent_, message, header(link), link.wanted.peer, out);
  if (message.asks) say(now, link, stream_.may_ask_back(now, sent_, stream_.pause()), out);
  return repeated;
}

void NewestStream::receive(EdgeVector vector) {
  before_ = std::move(latest_);
  latest_ = HeardVector{std::move(vector)};
}

// If the peer is ahead, the older vector is nearer to this round.
HeardVector* NewestStream::vector_for(std::uint64_t round, const Rules& rules) {
  if (before_ && rules.by_round && before_->round >= round && !(rules.once && before_->is_taken))
    return &*before_;
  if (!latest_ || (rules.once && latest_->is_taken)) return nullptr;
  const bool is_old = rules.by_round && latest_->round < round;
  return is_old && !rules.reuses ? nullptr : &*latest_;
}

}  // namespace starling::gossip
