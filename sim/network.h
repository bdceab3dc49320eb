// Network: when, whether and how a frame arrives. Every chance comes from a seeded generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/ids.h"
#include "base/prng.h"
#include "base/time.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"
#include "sim/damage.h"
#include "sim/faults.h"
#include "sim/geography.h"

namespace starling::sim {

// TCP's least retransmission time on Linux; it doubles from try to try.
inline constexpr Duration kRetransmission = std::chrono::milliseconds(200);

struct NetworkOptions {
  Duration delay = std::chrono::milliseconds(1);  // one way
  Duration jitter{};                              // on top of it, uniform from 0 to this
  double loss = 0;                                // probability that a frame never arrives
  double duplicate = 0;                           // probability that a frame arrives twice
  double bandwidth = 0;  // of a node, each way, bytes per second; 0: infinite
  // Probability that TCP loses a packet. Nothing is lost by that: the frame, and all behind it on
  // the connection, come later by TCP's retransmission time, which doubles from try to try.
  double packet_loss = 0;
  double reorder = 0;  // probability that a frame comes up to kStraggle later than those behind it
  double spike = 0;    // probability that a frame takes up to kSpike longer
  // The delays and rates of single nodes, in place of `delay` and beside `bandwidth`; null: none.
  std::shared_ptr<const Geography> geography = {};
  // A payload counts as so many times its bytes: those of the vectors that it stands in for.
  double payload_weight = 1;
  std::size_t chunk_bytes = gossip::kChunkBytes;  // of a payload in one frame, without the weight
};

// One connection and direction: frames keep their order in it, unless `reorder` says otherwise.
struct Hop {
  std::size_t from = 0, to = 0;  // below 2^31
  gossip::Plane plane = gossip::Plane::control;
};

// A frame that arrives twice has both times, one that is lost has none.
struct Arrivals {
  std::optional<Time> first, second;
};

class Network {
 public:
  Network(const NetworkOptions& options, std::uint64_t seed);

  // May be changed while frames are under way; those are not touched.
  NetworkOptions& options() { return options_; }
  Duration delay(std::size_t from, std::size_t to) const;
  // The bytes that a bulk connection may have under way. With a geography as many as its rate and
  // delay hold and two chunks more, so that connections take turns on the links that they share;
  // else any number.
  double window_bytes(std::size_t from, std::size_t to) const;
  // Of a frame of `bytes`, with the weight of its payload, that is sent now. What goes wrong with
  // it is counted.
  Arrivals send(Time now, const Hop& hop, double bytes);
  // The same of the first frame of a connection, which no chance meets.
  Arrivals greet(Time now, const Hop& hop);
  // Of all frames with their headers.
  std::uint64_t sent_bytes() const { return static_cast<std::uint64_t>(sent_bytes_); }

  // No more than this passes from `from` to `to`, bytes per second; until heal().
  void limit(std::size_t from, std::size_t to, double bytes_per_second);

  // Nothing sent from `from` reaches `to` any more; what is under way still does.
  void cut(std::size_t from, std::size_t to) { cuts_.insert({from, to}); }
  // Both ways between every node of `group` and every node outside, of `nodes` altogether.
  void partition(std::span<const std::size_t> group, std::size_t nodes);
  bool is_cut(std::size_t from, std::size_t to) const { return cuts_.contains({from, to}); }
  // Ends every cut, partition and limit.
  void heal() {
    cuts_.clear();
    limits_.clear();
  }
  // What is sent from `from` to `to` before `until` arrives no earlier than that.
  void clog(std::size_t from, std::size_t to, Time until);

  // Whether TCP sends a packet again on a bulk connection of `node`, so that vectors are late.
  bool is_held(Time now, std::size_t node) const;

  // What happens to the bytes of frames.
  Damage& damage() { return damage_; }
  // Of frames, whole and damaged ones.
  FaultCounts counts() const;

 private:
  // What carries one frame after the other.
  struct Wire {
    Time free{};  // when the last frame has passed
  };
  struct Connection {
    Wire wire;
    Time last{};       // when the last frame arrives of those in order
    Time straggler{};  // and of the others
  };

  bool is_cut(const Hop& hop);
  Time arrival(Time now, const Hop& hop, double bytes);
  Time sent(Time now, const Hop& hop, double bytes, Connection& connection);
  Duration retransmission();
  Time held_until(Time now, const Hop& hop);

  NetworkOptions options_;
  double sent_bytes_ = 0;
  Prng prng_;
  std::set<std::pair<std::size_t, std::size_t>> cuts_;
  std::unordered_map<std::uint64_t, Connection> connections_;  // never iterated
  // By node: when the last of its bulk frames arrives of which TCP sends a packet again.
  std::unordered_map<std::size_t, Time> held_;        // never iterated
  std::unordered_map<std::uint64_t, Time> clogs_;     // by nodes; never iterated
  std::unordered_map<std::uint64_t, double> limits_;  // the same
  std::unordered_map<std::size_t, Wire> up_, down_;   // by node; never iterated
  std::unordered_map<std::size_t, Wire> ways_;        // by way_index(); never iterated
  FaultCounts counts_;                                // without damage
  Damage damage_;
};

}  // namespace starling::sim
