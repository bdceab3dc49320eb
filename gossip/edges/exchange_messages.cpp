// Exchange: the messages of the edges.
#include <algorithm>

#include "base/planted.h"
#include "gossip/edges/exchange.h"

namespace starling::gossip {

// ---------------------------------------------------------------- what is said

Payload Exchange::offer_for(const Link& link) const {
  if (!link.wanted.out) return {};
  const auto found = edge_offers_.find(link.edge_id());
  return found == edge_offers_.end() ? offer_ : found->second;
}

void Exchange::send_offer(Time now, const Link& link, Outbox& out) {
  Round message;
  message.epoch = link.epoch;
  message.round = offered_round_;
  message.share = offered_share_;
  if (means_.has_value()) {
    message.flow = means_.flow(link.wanted.peer);
    message.estimate = means_.estimate();
    told_[link.wanted.peer] = now;
  }
  const auto [item, is_new] = neighbors_.try_emplace(link.wanted.peer);
  Neighbor& neighbor = item->second;
  if (is_new) neighbor.offered_path = path_before_;
  message.span = neighbor.span = span_of(neighbor);
  message.probe = probe_;
  message.sent = stamp_of(now);
  message.rate = std::min(static_cast<std::uint64_t>(neighbor.meter.rate()), kRoundLimit);
  Payload payload = offer_for(link);
  if (is_paired(link)) {
    if (!offer_pair(now, link, neighbor, payload, message)) payload = {};
  } else {
    neighbor.newest.offer(link, {offered_round_, offered_share_, message.span, payload, probe_},
                          message);
    neighbor.newest.wait(now, link, neighbor.patience.usual());
    next_ask_ = std::min(next_ask_, neighbor.newest.ask_at());
  }
  if (!payload.empty()) neighbor.offered_path = partner_path_ = path_;
  neighbor.sent_bytes += payload.size();
  neighbor.offered_edge = link.edge_id();
  neighbor.offered_out = link.wanted.out;
  out.send(link.bulk, std::move(message), payload);
}

// Returns whether the edge takes a vector in this round.
bool Exchange::offer_pair(Time now, const Link& link, const Neighbor& neighbor,
                          const Payload& payload, Round& message) {
  const Timing& timing = options_.timing;
  // An interval between vectors of one partner holds rounds with others, and all their losses.
  const bool by_partner = scheduler_->rules().by_partner;
  const Sessions::Waits waits{
      by_partner ? neighbor.patience.answer() : neighbor.patience.usual(),
      2 * neighbor.patience.doubt(timing.doubt_least, timing.patience_initial)};
  // An edge that opened after the job began has no vector to send.
  const bool skips = (link.wanted.out && payload.empty()) ||
                     scheduler_->skips_round(view_of(link), offered_round_);
  return sessions_.offer(now, link, {offered_round_, offered_share_, message.span, payload, probe_},
                         skips, waits, message);
}

// With one partner a round, what comes from one of them acts on all steps until the next pair with
// whomever, and not until the next pair on the same edge.
// If the schedule answers between rounds, the time between pairs varies, and the result of a pair
// acts on all steps until the next one. A recent longer span counts instead of a shorter one, so
// that a long wait after a short one does not overshoot.
double Exchange::span_of(const Neighbor& neighbor) const {
  constexpr double kFade = 0.95;
  if (scheduler_->rules().by_partner) return path_ - partner_path_;
  const double span = path_ - neighbor.offered_path;
  return scheduler_->rules().answers ? std::max(span, kFade * neighbor.span) : span;
}

std::vector<NodeId> Exchange::tick(Time now, const Links& links, Outbox& out) {
  std::vector<NodeId> doubted;
  sessions_.tick(now, out);
  if (now >= next_doubt_) doubt(now, links, doubted);
  if (now >= next_ask_) ask(now, links, out);
  if (now >= next_tell_) tell(now, links, out);
  return doubted;
}

// A node that is paused, has finished or offers to one neighbour a round is known by its estimates
// too.
void Exchange::tell(Time now, const Links& links, Outbox& out) {
  const Duration period = options_.timing.period;
  next_tell_ = now + period;
  if (!means_.has_value()) return;
  bool is_updated = false;
  for (const auto& [peer, link] : links.all()) {
    Time& told = told_[peer];
    if (!link.active || (told > Time{} && now < told + period)) continue;
    if (!std::exchange(is_updated, true)) means_.update();
    out.send(link.control,
             Estimate{is_resting_ ? 0 : offered_round_, means_.flow(peer), means_.estimate()});
    told = now;
  }
}

// Asks the peers of unpaired edges for vectors that this round waits for: they may be lost.
void Exchange::ask(Time now, const Links& links, Outbox& out) {
  const bool far_ahead = scheduler_->is_far_ahead(turn(), views(links));
  next_ask_ = kNever;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    if (is_paired(link) || found == neighbors_.end()) continue;
    NewestStream& stream = found->second.newest;
    const bool waits =
        link.active && now < scheduler_->waits_until(turn(), view_of(link), far_ahead);
    if (!waits)
      stream.stop_asking();
    else if (now >= stream.ask_at())
      stream.ask(now, link, out);
    next_ask_ = std::min(next_ask_, stream.ask_at());
  }
}

// Collects neighbours that this round has waited for longer than usual. Such a neighbour may be
// dead, and membership probes it at once.
void Exchange::doubt(Time now, const Links& links, std::vector<NodeId>& doubted) {
  next_doubt_ = kNever;
  const std::vector<StreamView> streams = views(links);
  const bool far_ahead = scheduler_->is_far_ahead(turn(), streams);
  const Duration least = options_.timing.doubt_least;
  for (const StreamView& stream : streams) {
    if (now >= scheduler_->waits_until(turn(), stream, far_ahead)) continue;
    Neighbor& neighbor = neighbors_.at(stream.peer);
    if (neighbor.is_doubted) continue;
    const Time at = waits_.since() + neighbor.patience.doubt(least, least);
    if (now < at) {
      next_doubt_ = std::min(next_doubt_, at);
      continue;
    }
    neighbor.is_doubted = true;
    doubted.push_back(stream.peer);
  }
}

// ---------------------------------------------------------------- what is heard

// Whether the message is of this opening of the edge, and paired as the edge is.
bool Exchange::is_current(const Envelope& from, const Round& message, const Link& link) const {
  return link.peer_epoch == message.epoch && link.peer_incarnation == from.incarnation &&
         (message.echo != 0) == is_paired(link);
}

void Exchange::receive(Time now, const Envelope& from, const Round& message, Payload payload,
                       const Links& links, const Roster& members, Outbox& out) {
  if (!believes(now, message, from.sender, members)) return;
  const std::size_t bytes = payload.size();
  auto heard = Sessions::Heard::fresh;
  if (message.echo != 0) heard = hear_pairs(now, from, message, std::move(payload), links, out);
  const auto found = links.all().find(from.sender);
  if (found == links.all().end()) return;
  const Link& link = found->second;
  Neighbor& neighbor = meet(from.sender);
  neighbor.received_bytes += bytes;
  // The peer's end may be active a moment before this one, so its epoch counts, not link.active.
  if (!is_current(from, message, link)) {
    if (heard == Sessions::Heard::foreign || message.echo == 0) ++neighbor.rejected["closed edge"];
    return;
  }
  measure(now, link, neighbor, message, bytes, out);
  if (message.echo == 0 && link.active)
    neighbor.sent_bytes += neighbor.newest.hear(now, link, message, out);
  if (message.round == 0) return;  // only acknowledges or asks
  const bool is_new = message.round > neighbor.round;
  if (heard == Sessions::Heard::known || (message.echo == 0 && !is_new))
    ++neighbor.rejected["repeated"];
  if (!is_new) return;
  hear_round(now, neighbor, message);
  means_.receive(from.sender, message.round, message.flow, message.estimate);
  if (message.echo == 0)
    neighbor.newest.receive({message.round, message.share, std::move(payload), message.probe});
}

// The peer was heard in a newer round than before.
void Exchange::hear_round(Time now, Neighbor& neighbor, const Round& message) {
  const bool by_partner = scheduler_->rules().by_partner;
  neighbor.patience.arrived(now, by_partner ? message.round - neighbor.round : 1);
  if (by_partner && neighbor.offered_edge != 0 && message.round >= offered_round_)
    neighbor.patience.answered(now - neighbor.offered);
  neighbor.round = message.round;
  neighbor.heard = now;
  neighbor.rests = false;
  if (!PLANTED(never_waits_again)) neighbor.late = false;
}

// Takes a message of paired vectors into the session of the edge.
Sessions::Heard Exchange::hear_pairs(Time now, const Envelope& from, const Round& message,
                                     Payload payload, const Links& links, Outbox& out) {
  // No offer follows the peer's answer, so the session acknowledges the answer at once.
  const bool is_answer = scheduler_->rules().answers && sessions_.pairs(from.sender).is_waiting;
  const Sessions::Heard heard = sessions_.receive(now, from, message, std::move(payload), links,
                                                  is_resting_ || is_answer, out);
  const auto neighbor = neighbors_.find(from.sender);
  const bool was_offered = neighbor != neighbors_.end() && neighbor->second.offered > Time{};
  if (is_answer && was_offered && !sessions_.pairs(from.sender).is_waiting)
    pair_times_.add(now - neighbor->second.offered);
  return heard;
}

void Exchange::measure(Time now, const Link& link, Neighbor& neighbor, const Round& message,
                       std::size_t bytes, Outbox& out) {
  if (message.rate > 0) neighbor.send_rate = static_cast<double>(message.rate);
  const auto transit = link.clock.since(now, message.sent);
  if (bytes == 0 || !transit) return;
  neighbor.came = now;
  neighbor.under_way = *transit;
  neighbor.meter.came(bytes, *transit - link.clock.round_trip().value_or(Duration{}) / 2);
  // A false stamp may claim that the vector left before this node's clock began.
  const Time left = now - std::min(*transit, now - Time{});
  out.put(Span{Span::Kind::receive, left, now, link.name, message.round, bytes});
}

}  // namespace starling::gossip
