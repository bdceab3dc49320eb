// Exchange, where vectors are not numbered: asking for the one that a round waits for, and sending
// it again when it was lost.
#include <algorithm>

#include "gossip/edges/exchange.h"

namespace starling::gossip {

// For the vector that this round waits for: it may be lost.
void Exchange::ask(Time now, const Links& links, const Link& link, Outbox& out) {
  Asking& asking = neighbors_.at(link.wish.peer).asking;
  if (!waits_for(links, link, now)) asking.at = kNever;
  if (now < asking.at) return;
  say(now, link, true, out);
  asking.at = now + asking.pause;
  asking.pause = std::min(asking.pause * 5 / 4, kPauseLimit);
}

// In another life of the edge both ends count anew.
Exchange::Asking& Exchange::asking_of(const Link& link) {
  Asking& asking = neighbors_[link.wish.peer].asking;
  if (asking.life != link.life()) asking = {.life = link.life()};
  return asking;
}

void Exchange::number(const Link& link, Round& message) {
  asking_of(link);
  Neighbor& neighbor = neighbors_[link.wish.peer];
  message.received = neighbor.latest ? neighbor.latest->round : 0;
  message.order = ++neighbor.asking.order;
  message.seen = neighbor.asking.heard;
}

void Exchange::say(Time now, const Link& link, bool asks, Outbox& out) {
  Neighbor& neighbor = neighbors_[link.wish.peer];
  Round message;
  message.epoch = link.epoch;
  number(link, message);
  message.asks = asks;
  if (asks) {
    neighbor.asking.question = message.order;
    neighbor.asking.asked_at = now;
  }
  out.send(link.bulk, std::move(message));
}

// The last vector is not confirmed, and no question behind it waits for its answer.
bool Exchange::Asking::may_ask_back(Time now) const {
  if (vector == 0 || vector < seen) return false;
  return vector > question || now - asked_at >= pause;
}

// A vector may be under way: only one who has seen a message that came behind it lacks it for
// certain. `message` says what has come at the other end.
void Exchange::reply(Time now, const Link& link, const Round& message, Outbox& out) {
  if (!link.active) return;
  Asking& asking = asking_of(link);
  asking.heard = std::max(asking.heard, message.order);
  if (message.seen <= asking.order) asking.seen = std::max(asking.seen, message.seen);
  const bool is_behind = message.received < offered_round_;
  if (is_behind && asking.vector < asking.seen) send_again(link, out);
  if (message.asks) say(now, link, is_behind && asking.may_ask_back(now), out);
}

void Exchange::send_again(const Link& link, Outbox& out) {
  const Payload payload = offer_for(link);
  if (payload.empty()) return;
  Neighbor& neighbor = neighbors_[link.wish.peer];
  Round again;
  again.epoch = link.epoch;
  again.round = offered_round_;
  again.degree = offered_degree_;
  again.span = path_ - path_before_;
  number(link, again);
  neighbor.asking.vector = again.order;
  neighbor.sent_bytes += payload.size();
  out.send(link.bulk, std::move(again), payload);
}

}  // namespace starling::gossip
