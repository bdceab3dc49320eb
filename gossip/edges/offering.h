// Offering: the vector that this node offers its neighbours in the current round, and the sums of
// the learning rates of its local steps, from which the span of a vector follows; see Round::span.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/payload.h"
#include "gossip/checkpoint.h"
#include "gossip/edges/links.h"
#include "gossip/edges/neighbors.h"
#include "gossip/edges/scheduler.h"
#include "gossip/edges/send_window.h"

namespace starling::gossip {

class Offering {
 public:
  // The sums go on from those of an earlier life, so that differences of them are the same numbers.
  Offering(const Scheduler::Rules& rules, const KeptExchange& before)
      : rules_(rules),
        path_(before.path),
        path_before_(before.path),
        partner_path_(before.partner_path) {}

  // Takes what the trainer offers in `round`. `share`: that this node allows each pair; `probe`:
  // see MixingMeter.
  void begin(std::uint64_t round, optim::Done& done, double share, std::uint64_t probe) {
    round_ = round;
    share_ = share;
    probe_ = probe;
    payload_ = std::move(done.offer);
    edge_payloads_ = {done.edge_offers.begin(), done.edge_offers.end()};
    path_before_ = path_;
    path_ += done.stats.learning_rate * static_cast<double>(done.stats.steps);
  }
  // Takes the answer to a neighbour that waits between rounds.
  void answer(Payload payload, std::uint64_t probe) {
    payload_ = std::move(payload);
    probe_ = probe;
  }
  // Whether this node offers no more vectors for now.
  void rest(bool is_resting) { is_resting_ = is_resting; }
  bool is_resting() const { return is_resting_; }

  // The round of the offer; 0: there was none.
  std::uint64_t round() const { return round_; }
  double share() const { return share_; }
  std::uint64_t probe() const { return probe_; }
  // What all edges carry but those with a vector of their own.
  const Payload& payload() const { return payload_; }
  // The vector for that edge; without a payload if the edge carries none to the peer.
  EdgeVector vector_for(const Link& link, const Neighbor& neighbor) const {
    EdgeVector vector{.round = round_, .share = share_, .span = span_to(neighbor), .probe = probe_};
    if (!link.wanted.out) return vector;
    const auto own = edge_payloads_.find(link.edge_id());
    vector.payload = own == edge_payloads_.end() ? payload_ : own->second;
    return vector;
  }
  // That vector was sent to the neighbour: spans begin anew.
  void sent(Neighbor& neighbor) { neighbor.offered_path = partner_path_ = path_; }

  // The sums of the learning rates of all local steps, of those before the offer's steps, and of
  // those up to the last vector that was sent to anybody.
  double path() const { return path_; }
  double path_before() const { return path_before_; }
  double partner_path() const { return partner_path_; }

 private:
  // With one partner a round, a pair's flow applies to all steps until this node's next pair with
  // any peer. If the schedule answers between rounds, the time between pairs varies, and the result
  // of a pair acts on all steps until the next one. A recent longer span counts instead of a
  // shorter one, so that a long wait after a short one does not overshoot.
  double span_to(const Neighbor& neighbor) const {
    constexpr double kFade = 0.95;
    if (rules_.by_partner) return path_ - partner_path_;
    const double span = path_ - neighbor.offered_path;
    return rules_.answers ? std::max(span, kFade * neighbor.span) : span;
  }

  const Scheduler::Rules rules_;
  std::uint64_t round_ = 0;
  double share_ = 0;
  std::uint64_t probe_ = 0;
  Payload payload_;
  std::map<std::uint64_t, Payload> edge_payloads_;  // by edge id
  double path_, path_before_, partner_path_;
  bool is_resting_ = false;
};

}  // namespace starling::gossip
