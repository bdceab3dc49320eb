// The rules by which drivers carry messages: facts that a process and the simulator share.
#pragma once

#include <chrono>
#include <cstddef>

#include "gossip/wire/message.h"

namespace starling::gossip {

// Messages that wait for one peer. Control messages are repeated by the node; a newer vector
// replaces one that has not begun. Larger: more memory for a peer that reads nothing. Smaller:
// rumors of a large cluster are dropped, and sent again later.
constexpr std::size_t waiting_limit(Plane plane) {
  return plane == Plane::bulk ? 2 : 256;
}

// A connection is cut if nothing was acknowledged for this long: a NAT has dropped it, or a cable
// is out. Longer: a node that cannot be dialled dials again later. Shorter: packet loss alone ends
// a connection.
inline constexpr std::chrono::seconds kCutPatience{3};
// A connection that is to be closed stays open this long, and longer while data move on it.
inline constexpr std::chrono::milliseconds kConnectionLinger{500};
// The same for a connection that another one with the peer replaces. Within this time the peer has
// delivered what it sent before it knew the other connection, or has found the old one cut. Longer:
// pairs of nodes that dialled each other have two connections for longer. Shorter: a vector that
// comes late over the old connection is sent again over the new one.
inline constexpr std::chrono::seconds kReplacedLinger = 2 * kCutPatience;

// An attempt to connect ends after this.
inline constexpr std::chrono::milliseconds kConnectTimeout{2000};
// How often Connections::look() is called. Longer: an unfinished message grows further before it is
// found.
inline constexpr std::chrono::milliseconds kWatchEvery{200};
// A process that ends waits this long until what is queued has left.
inline constexpr std::chrono::milliseconds kFlushPatience{300};
// Of one connection the system takes this many bytes before it is full, and then the layer below
// PeerQueues so many frames.
inline constexpr std::size_t kSendBufferBytes = 4 << 20;
constexpr std::size_t sending_limit(Plane plane) {
  return plane == Plane::bulk ? 16 : 256;
}

// A probe of an address tries to connect every kConnectTryEvery. The address counts as unanswered
// after kConnectPatience.
inline constexpr std::chrono::milliseconds kConnectTryEvery{500}, kConnectPatience{1500};

}  // namespace starling::gossip
