// WaitMeter: how long rounds wait, and which part of that for the network.
#pragma once

#include "base/time.h"
#include "gossip/edges/patience.h"
#include "gossip/wire/link_meter.h"

namespace starling::gossip {

class WaitMeter {
 public:
  // The vector of a round is offered; the round waits from now on.
  void begin(Time now) {
    rounds_.add(now - since_);
    since_ = now;
  }
  // The round is over; the vector that came last was under way for `under_way`, and for `transit`
  // without the time of an empty message.
  void end(Time now, Duration transit, Duration under_way) {
    const Duration wait = now - since_;
    const Duration network = std::min(wait, transit);
    last_exchange_ = std::min(wait, under_way);
    waited_ += wait;
    network_ += network;
    if (ended_ > Time{}) share_.add(now - ended_, network);
    ended_ = now;
  }

  Time since() const { return since_; }
  // The recent times from one offer to the next.
  const Recent& rounds() const { return rounds_; }
  Duration waited() const { return waited_; }
  Duration waited_for_network() const { return network_; }
  // The part of the last wait in which that vector was under way, latency and all.
  Duration last_exchange() const { return last_exchange_; }
  const NetworkShare& network_share() const { return share_; }

 private:
  Recent rounds_;
  Time since_{}, ended_{};
  Duration waited_{}, network_{}, last_exchange_{};
  NetworkShare share_;
};

}  // namespace starling::gossip
