// Transport: sends frames of this node to other nodes, by their ids and addresses. Peers needs
// nothing else of it; the daemon's transport is ZmqTransport.
#pragma once

#include <optional>
#include <variant>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/keys.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::gossip {

class Transport {
 public:
  // Where a process listens. Port 0: it cannot be dialled. If this node has keys, it cannot dial a
  // process whose key is unknown.
  struct Address {
    Endpoint at = {};
    std::optional<CurveKey> key = {};
  };
  // A node, or the process that listens at an address, whichever node that is.
  using Target = std::variant<NodeId, Address>;

  virtual ~Transport() = default;

  // Sets where the node listens; nothing: deletes the node. REQUIRES an address, not a host name.
  virtual void reach(NodeId node, const std::optional<Address>& at) = 0;
  // The address at which this node dialled its newest control connection with that node; nothing if
  // there is none, or the other end dialled it.
  virtual std::optional<Address> dialled(NodeId node) = 0;
  // Begins to connect to a node set by reach(), if there is no connection.
  virtual void open(NodeId node, Plane plane) = 0;
  // Queues the frames of one message, and dials if that is needed and possible.
  virtual void send(const Target& to, Plane plane, Frames frames) = 0;
  // Sends a control message of one frame over the newest connection with a node of that id, which
  // may be unknown to this node, or another node of the same name. Returns whether there is one.
  virtual bool answer(NodeId to, Frames frames) = 0;
  // Closes the connection that was dialled, once what was sent has left.
  virtual void hang_up(const Target& from, Plane plane) = 0;
};

}  // namespace starling::gossip
