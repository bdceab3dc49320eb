#include "gossip/edges/stream.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {

Duration first_pause(const Link& link) {
  const std::chrono::duration<double> round_trips(4 * link.rtt_s.value_or(0));
  return kPauseLeast + std::min(std::chrono::duration_cast<Duration>(round_trips), kPauseInitial);
}

void Stream::number(Round& message) {
  message.order = ++order_;
  message.seen = heard_;
}

void Stream::hear(const Round& message, SendWindow& sent) {
  heard_ = std::max(heard_, message.order);
  if (message.round >= awaited_round_) awaited_round_ = 0;
  if (message.seen <= order_) sent.seen(PLANTED(asks_too_early) ? order_ : message.seen);
}

std::uint64_t Stream::retransmit(SendWindow& sent, const Round& heard, const Round& header,
                                 NodeId peer, Outbox& out) {
  std::uint64_t repeated = 0;
  for (const std::uint64_t lost : sent.lost()) {
    const EdgeVector& own = sent.at(lost);
    const std::size_t bytes = own.payload.size();
    if (bytes == 0) continue;
    const bool came_in_part =
        header.echo != 0 && lost == heard.received + 1 && heard.partial < bytes;
    const std::size_t from = came_in_part ? heard.partial : 0;
    Round message = header;
    number(message);
    message.terms() = own.terms();
    if (message.echo != 0) message.number = lost;
    sent.mark_sent(lost, message.order);
    repeated += bytes - from;
    out.send(peer, std::move(message), own.payload, from);
  }
  return repeated;
}

void Stream::ask(Time now, Round& message) {
  message.asks = true;
  question_ = message.order;
  asked_at_ = now;
}

bool Stream::may_ask_back(Time now, const SendWindow& sent, Duration pause) const {
  const std::uint64_t newest = sent.newest_unconfirmed();
  if (newest < sent.seen() || newest == 0) return false;  // known to be lost, or none
  const bool is_unanswered = question_ > sent.seen();
  return newest > question_ || (is_unanswered && now - asked_at_ >= pause);
}

void Stream::back_off(Time now, bool is_closing) {
  ask_at_ = now + pause_;
  pause_ = std::min(pause_ * 5 / 4, is_closing ? kClosingPauseLimit : kPauseLimit);
}

}  // namespace starling::gossip
