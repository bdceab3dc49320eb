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
  // Takes the trainer's offer in `round`. `share`: see EdgeVector; `probe`: see MixingMeter.
  void begin(std::uint64_t round, optim::Done& done, double share, std::uint64_t probe) {
    vector.round = round;
    vector.share = share;
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
  EdgeVector vector_for(const Link& link, const Neighbor& neighbor,
                        const Scheduler& scheduler) const {
    EdgeVector own = vector;
    own.span = scheduler.span({path - neighbor.offered_path, neighbor.span},
                              {path - partner_path, partner_span});
    if (const optim::EdgeOffer* offer = offer_of(link)) {
      own.payload = offer->payload;
      own.number = offer->number;
      own.damping = damping_of(offer->theta);
    }
    if (!link.wanted.out) own.payload = {};
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
    neighbor.offered_path = partner_path = path;
    neighbor.span = partner_span = span;
  }
  // The vector for all edges without one of their own, except its span. Round 0: none so far.
  EdgeVector vector = {};
  std::size_t payload_bytes = 0;  // of that vector, kept after the payload is released
  std::map<std::uint64_t, optim::EdgeOffer> of_edge = {};  // by edge id
  // Sums of the learning rates of all local steps, of those before the last ones, and of those up
  // to the last vector sent to any neighbour. They continue those of an earlier run, so that their
  // differences round alike.
  double path = 0, path_before = 0, partner_path = 0;
  double partner_span = 0;  // of the last vector sent to any neighbour
  AnswerState state = {};
  std::vector<NodeId> answers = {};  // the peers that get the answer of the current job
};

}  // namespace starling::gossip
