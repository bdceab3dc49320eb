// WaitMeter: how long rounds and pairs wait for the network and for each neighbour. A round begins
// with begin(), at its offer, and ends with end(); worked() follows each job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/edges/hold_ups.h"
#include "gossip/edges/patience.h"
#include "gossip/edges/scheduler.h"
#include "gossip/wire/link_meter.h"

namespace starling::gossip {

class WaitMeter {
 public:
  // The vector of a round is offered; the wait begins.
  void begin(Time now) {
    rounds_.add(now - since_);
    since_ = now;
  }
  // An answer arrived `wait` after this node's offer.
  void answered(Duration wait) { pair_times_.add(wait); }
  // The node did not run for a while: the shares do not count the current round.
  void was_away() { ended_ = {}; }
  // A job begins within the round.
  void interrupt(Time now) { waited_ += now - std::max(since_, worked_); }
  // A job of the round is done: from here on the round only waits for others.
  void worked(Time now) { worked_ = now; }
  // The vector that arrived last in a round.
  struct Last {
    NodeId from{};
    Duration under_way{};
    Duration transit{};  // under_way minus that of an empty message
  };
  // The round is over. `given_up`: it ended without a vector of that neighbour.
  void end(Time now, const Last& last, std::optional<NodeId> given_up) {
    const Duration wait = now - since_;
    const Duration network = std::min(wait, last.transit);
    last_exchange_ = std::min(wait, last.under_way);
    const Duration idle = now - std::max(since_, worked_);
    waited_ += idle;
    network_ += std::min(idle, network);
    if (ended_ > Time{}) {
      share_.add(now - ended_, network);
      hold_ups_.add(now - ended_, given_up.value_or(last.from),
                    given_up ? idle : idle - std::min(idle, last.under_way));
    }
    ended_ = now;
    if (last.from != NodeId{}) slowest_ = last.from;
  }

  Time since() const { return since_; }
  // The current round, `round`, as a scheduler sees it.
  CurrentRound current(std::uint64_t round) const {
    CurrentRound current{.round = round, .since = since_};
    if (pair_times_.is_measured()) current.pair_time = pair_times_.median();
    return current;
  }
  // The neighbour whose vector arrived last, in the last round with vectors.
  NodeId slowest() const { return slowest_; }
  // The recent times from one offer to the next.
  const Recent& rounds() const { return rounds_; }
  // The total time that rounds waited, without the node's own computing after an offer.
  Duration waited() const { return waited_; }
  Duration waited_for_network() const { return network_; }
  // The part of the last wait in which the last vector was in transit, latency included.
  Duration last_exchange() const { return last_exchange_; }
  const NetworkShare& network_share() const { return share_; }
  const HoldUps& hold_ups() const { return hold_ups_; }

 private:
  Recent rounds_, pair_times_;
  Time since_{}, worked_{}, ended_{};
  Duration waited_{}, network_{}, last_exchange_{};
  NodeId slowest_{};
  NetworkShare share_;
  HoldUps hold_ups_;
};

}  // namespace starling::gossip
