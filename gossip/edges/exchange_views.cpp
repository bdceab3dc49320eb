// Exchange: what the scheduler sees of the rounds and the edges.
#include "gossip/edges/exchange.h"

namespace starling::gossip {

Turn Exchange::turn() const {
  Turn turn{.round = offered_round_, .since = waits_.since()};
  if (pair_times_.is_measured()) turn.pair_time = pair_times_.median();
  return turn;
}

StreamView Exchange::view_of(const Link& link) const {
  static const Neighbor kNobody;
  const auto found = neighbors_.find(link.wanted.peer);
  const Neighbor& neighbor = found == neighbors_.end() ? kNobody : found->second;
  const Duration least = options_.timing.patience_least;
  const bool is_paused = paused_.contains(link.wanted.peer);
  StreamView view{.peer = link.wanted.peer,
                  .in = link.wanted.in,
                  .out = link.wanted.out,
                  .was_offered = link.active && neighbor.offered_edge == link.edge_id() &&
                                 (neighbor.offered_out || !link.wanted.out),
                  .round = neighbor.round,
                  .has_news = neighbor.newest.has_news(),
                  .is_late = neighbor.late || is_paused,
                  .is_partner = partner_ == link.wanted.peer,
                  .rests = neighbor.rests || is_paused,
                  .heard = neighbor.heard,
                  .offered = neighbor.offered,
                  .patience = neighbor.patience.value(least, least)};
  if (!is_paired(link)) return view;
  const Sessions::PairState pairs = sessions_.pairs(link.wanted.peer);
  view.has_news = !pairs.is_waiting;
  view.has_gap = pairs.has_gap;
  view.is_owed = pairs.is_owed;
  view.is_waiting = pairs.is_waiting;
  view.is_asked = pairs.is_asked;
  view.next_pair_round = pairs.next_round;
  return view;
}

std::vector<StreamView> Exchange::views(const Links& links) const {
  std::vector<StreamView> views;
  for (const auto& [peer, link] : links.all())
    if (link.active) views.push_back(view_of(link));
  return views;
}

}  // namespace starling::gossip
