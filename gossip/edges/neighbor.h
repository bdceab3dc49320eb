// Neighbor: what this node knows of the peer at the other end of one edge, apart from sessions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/edges/newest_stream.h"
#include "gossip/edges/patience.h"
#include "gossip/wire/link_meter.h"

namespace starling::gossip {

struct Neighbor {
  // ---- the peer's vectors
  std::uint64_t round = 0;           // the newest round that the peer was heard in; 0: not heard
  Time heard{};                      // when the peer was heard in that round
  Time came{};                       // when the peer's last vector was complete
  Duration under_way{};              // how long it was before, latency and all
  std::uint64_t unlikely_round = 0;  // the peer's last round that was not believed
  NewestStream newest;               // for an edge whose vectors are not paired
  // ---- this node's vectors
  std::uint64_t offered_edge = 0;  // edge id of the opening that the offer went over; 0: not sent
  bool offered_out = false;        // the edge carried vectors to the peer when the offer was sent
  Time offered{};                  // when the last offer of a round went to the peer
  double offered_path = 0;  // Exchange::path_ at the last vector that was offered to the peer
  double span = 0;          // Round::span of that vector
  // ---- waiting for the peer
  Patience patience;
  bool late = false;        // the patience ran out; no round waits until the peer is heard again
  bool rests = false;       // the peer has finished, or no process listens at its address
  bool is_doubted = false;  // the peer was doubted in this round
  // ---- for people
  bool averaged = false;  // with the peer, at least once
  double weight = 0;
  LinkMeter meter;       // of the peer's vectors
  double send_rate = 0;  // of this node's vectors, as the peer reports it
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  std::optional<double> distance;
  std::map<std::string, std::uint64_t> rejected;
};

}  // namespace starling::gossip
