// Neighbor: what a node knows of the peer at the other end of one edge, beside the streams of their
// vectors.
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
  // ---- its vectors
  std::uint64_t round = 0;           // the newest that it was heard in; 0: not heard
  Time heard{};                      // when that was
  Time came{};                       // its last vector, whole
  std::uint64_t unlikely_round = 0;  // the last one that was not believed
  NewestStream newest;               // where vectors are not paired
  // ---- this node's vectors
  std::uint64_t offered_epoch = 0;  // of the link that the current offer went over; 0: it did not
  Time offered{};                   // when the last offer of a round went to it
  double offered_path = 0;          // Exchange::path_ of the last vector that was offered to it
  double span = 0;                  // of that vector, as it was said
  // ---- waiting for it
  Patience patience;
  bool late = false;        // its patience ran out; nobody waits until it is heard again
  bool rests = false;       // it has finished, or nobody listens at its address
  bool is_doubted = false;  // in this round
  // ---- for people
  bool averaged = false;  // with it, at least once
  double weight = 0;
  LinkMeter meter;       // of its vectors
  double send_rate = 0;  // of vectors of this node, as the peer says
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  std::optional<double> distance;
  std::map<std::string, std::uint64_t> rejected;
};

}  // namespace starling::gossip
