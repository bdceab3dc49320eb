// Offering: the vector that this node offers its neighbours in the current round, and its path: the
// sum of the learning rates of its local steps. Spans (Round::span) are differences of paths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "gossip/edges/links.h"
#include "gossip/edges/neighbors.h"
#include "gossip/edges/scheduler.h"
#include "gossip/edges/send_window.h"

namespace starling::gossip {

struct Offering {
  // Takes the trainer's offer in `round`. `neighbors`: the neighbours of this node; `probe`: see
  // MixingMeter.
  void begin(std::uint64_t round, optim::Done& done, std::size_t neighbors, std::uint64_t probe) {
    vector.round = round;
    degree = neighbors;
    state.is_unanswered = true;
    take(done, probe);
  }
  // Adds the sum `more` of the learning rates of the local steps just taken.
  void stepped(double more) {
    path_before = path;
    path += more;
  }
  // Takes the trainer's offer for the same round, such as the answer of Exchange::begin_answer().
  void take(optim::Done& done, std::uint64_t probe) {
    vector.payload = std::move(done.offer);
    payload_bytes = vector.payload.size();
    vector.probe = probe;
    vector.reach = amount_bits(done.reach);
    of_edge.clear();
    for (optim::EdgeOffer& offer : done.edge_offers) of_edge[offer.edge] = std::move(offer);
  }
  // The vector for that edge; without a payload if the edge carries none to the peer.
  EdgeVector vector_for(const Link& link, const Neighbor& neighbor, const EdgeView& view,
                        const Scheduler& scheduler) const {
    EdgeVector own = vector;
    own.share = scheduler.share(view, degree);
    own.span = scheduler.span({.edge = {path - neighbor.offered_path, neighbor.span},
                               .any = {path - sent_path, sent_span},
                               .round = path - path_before,
                               .sequence = view.sequence});
    if (const optim::EdgeOffer* offer = offer_of(link)) {
      own.payload = offer->payload;
      own.number = offer->number;
      own.damping = damping_of(offer->theta);
    }
    if (!view.out) own.payload = {};
    return own;
  }
  // The edge's own offer; null: none.
  const optim::EdgeOffer* offer_of(const Link& link) const {
    const auto found = of_edge.find(link.edge_id());
    return found == of_edge.end() ? nullptr : &found->second;
  }
  // The bytes of the largest vector of this round.
  std::size_t vector_bytes() const {
    std::size_t bytes = payload_bytes;
    for (const auto& [edge, offer] : of_edge) bytes = std::max(bytes, offer.payload.size());
    return bytes;
  }
  // Records that the vector was sent to the neighbour with that span: a new span begins.
  void sent(Neighbor& neighbor, double span) {
    neighbor.offered_path = sent_path = path;
    neighbor.span = sent_span = span;
  }
  // The vector for all edges without one of their own, except its share and span. Round 0: none so
  // far.
  EdgeVector vector = {};
  std::size_t payload_bytes = 0;  // of that vector, kept after the payload is released
  std::map<std::uint64_t, optim::EdgeOffer> of_edge = {};  // by edge id
  // Sums of the learning rates of all local steps, of those before the last ones, and of those up
  // to the last vector sent to any neighbour. They continue those of an earlier run, so that their
  // differences round alike.
  double path = 0, path_before = 0, sent_path = 0;
  double sent_span = 0;    // of the last vector sent to any neighbour
  std::size_t degree = 0;  // this node's neighbours at the offer
  AnswerState state = {};
  std::vector<NodeId> answers = {};  // the peers that get the answer of the current job
};

}  // namespace starling::gossip
