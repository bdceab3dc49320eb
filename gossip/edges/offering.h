// Offering: the vector that this node offers its neighbours in the current round, and the sums of
// the learning rates of its local steps, from which the span of a vector follows; see Round::span.
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
  // Takes what the trainer offers in `round`. `share`: what this node allows each pair; `probe`:
  // see MixingMeter.
  void begin(std::uint64_t round, optim::Done& done, double share, std::uint64_t probe) {
    vector = {.round = round,
              .share = share,
              .payload = std::move(done.offer),
              .probe = probe,
              .reach = amount_bits(done.reach)};
    payload_bytes = vector.payload.size();
    of_edge.clear();
    owes_means = true;
    for (optim::EdgeOffer& offer : done.edge_offers) of_edge[offer.edge] = std::move(offer);
  }
  // Local steps were taken, the sum of whose learning rates is `more`.
  void stepped(double more) {
    path_before = path;
    path += more;
  }
  // Takes the answer to a neighbour that waits between rounds.
  void answer(optim::Done& done, std::uint64_t probe) {
    vector.payload = std::move(done.offer);
    payload_bytes = vector.payload.size();
    vector.probe = probe;
    vector.reach = amount_bits(done.reach);
    of_edge.clear();
    for (optim::EdgeOffer& offer : done.edge_offers) of_edge[offer.edge] = std::move(offer);
  }
  // The vector for that edge; without a payload if the edge carries none to the peer.
  EdgeVector vector_for(const Link& link, const Neighbor& neighbor,
                        const Scheduler::Rules& rules) const {
    EdgeVector own = vector;
    own.span = span_to(neighbor, rules);
    if (const optim::EdgeOffer* offer = offer_of(link)) {
      own.payload = offer->payload;
      own.number = offer->number;
      own.damping = damping_of(offer->step);
    }
    if (!link.wanted.out) own.payload = {};
    return own;
  }
  // The edge's own offer; null: none.
  const optim::EdgeOffer* offer_of(const Link& link) const {
    const auto found = of_edge.find(link.edge_id());
    return found == of_edge.end() ? nullptr : &found->second;
  }
  // Of the largest vector of this round.
  std::size_t vector_bytes() const {
    std::size_t bytes = payload_bytes;
    for (const auto& [edge, offer] : of_edge) bytes = std::max(bytes, offer.payload.size());
    return bytes;
  }
  // The vector was sent to the neighbour with that span: a new span begins.
  void sent(Neighbor& neighbor, double span) {
    neighbor.offered_path = partner_path = path;
    neighbor.span = partner_span = span;
  }
  // The span that this end tells. With one partner a round, a pair's flow applies to all steps
  // until this node's next pair with any peer. There, and wherever the time between pairs varies,
  // the result of a pair acts on all steps until the next one. A recent longer span counts instead
  // of a shorter one, so that a long wait after a short one does not overshoot. Otherwise exact
  // diffusion diverges on stars: by partners, and in `async` under loss.
  double span_to(const Neighbor& neighbor, const Scheduler::Rules& rules) const {
    // Smaller: a long wait is forgotten sooner, and in `async` under loss .8 is too small.
    constexpr double kFade = 0.95;
    if (rules.by_partner) return std::max(path - partner_path, kFade * partner_span);
    const double span = path - neighbor.offered_path;
    if (rules.mixes_rounds) return std::max(kStretch * span, kFade * neighbor.span);
    return rules.answers ? std::max(span, kFade * neighbor.span) : span;
  }
  // Where vectors of different rounds are averaged, a flow acts a pair later than in step: if each
  // pair is to move a flow by a whole span's worth, the models swing without end. Larger: the flows
  // follow more slowly, by so many times the rounds where the graph sets the pace. Smaller: models
  // swing longer, and where gradients hardly pull a few networks diverge at 1.
  static constexpr double kStretch = 2;

  // The vector for all edges without one of their own, except its span. Round 0: none so far.
  EdgeVector vector = {};
  std::size_t payload_bytes = 0;  // of that vector, also when the payload is gone
  std::map<std::uint64_t, optim::EdgeOffer> of_edge = {};  // by edge id
  // Sums of the learning rates of all local steps, of those before the last ones, and of those up
  // to the last vector sent to any neighbour. They continue those of an earlier life, so that their
  // differences round alike.
  double path = 0, path_before = 0, partner_path = 0;
  double partner_span = 0;           // of the last vector sent to any neighbour
  bool is_resting = false;           // this node offers no more vectors for now
  bool owes_means = false;           // in slices: only the parts of this round are offered
  std::vector<NodeId> answers = {};  // who gets the answer that the job under way makes
};

}  // namespace starling::gossip
