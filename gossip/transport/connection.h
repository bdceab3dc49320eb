// Connection: what a node knows of one connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/keys.h"
#include "base/time.h"
#include "gossip/trust/certificate.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

struct Connection {
  enum class State : std::uint8_t {
    dialling,  // begun by this end; frames may be sent
    open,      // it has a descriptor
    shut,      // closed by this end; the wire's event follows
    lost,      // sending has found it gone; the wire's event follows
    broken,    // frames that came over it may be unread
  };
  // Which state may follow which; a connection that ends is never used again.
  static bool may_follow(State from, State to);

  State state = State::dialling;
  Plane plane = {};                             // as dialled, or as its peer greeted
  std::optional<NodeId> peer = {};              // nothing before its greeting
  std::optional<Certificate> certificate = {};  // of the peer, if there are keys
  Endpoint at = {};                             // the address that was dialled
  std::optional<CurveKey> key = {};             // that the other end proves
  std::string address = {};                     // of the other end, as in Wire::Event
  int descriptor = -1;                          // of the system; -1: dialling or broken
  Time since{};                                 // when it was dialled, or greeted
  std::int64_t received_bytes = 0;
  std::uint64_t last_use = 0;
  Time ended{};                        // when it was lost or broke
  bool is_read = false;                // since then no frame is unread
  std::optional<Time> closes_at = {};  // when to close it, if no data move
  Duration linger{};                   // for how long none must have moved

  // Goes on to that state. REQUIRES may_follow(state, next).
  void become(State next);
  bool is_usable() const { return state == State::dialling || state == State::open; }
  bool has_ended() const { return state == State::lost || state == State::broken; }
};

}  // namespace starling::gossip
