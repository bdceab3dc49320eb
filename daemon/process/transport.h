// Transport: how frames of this node reach other nodes, which it knows by their ids and addresses.
// This is all that what performs the node's wishes needs of it; ZmqTransport is what a process has.
#pragma once

#include <optional>
#include <variant>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/keys.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::daemon {

class Transport {
 public:
  // Where a process listens; port 0: nowhere, nobody can dial it. Where there are keys a process
  // without one cannot be dialled.
  struct Address {
    Endpoint at = {};
    std::optional<CurveKey> key = {};
  };
  // A node, or the process that listens at an address, whichever node that is.
  using Target = std::variant<NodeId, Address>;

  virtual ~Transport() = default;

  // The node listens there; REQUIRES an address, not a host name. Nothing: it is forgotten.
  virtual void reach(NodeId node, const std::optional<Address>& at) = 0;
  // Where this node has dialled the control connection with that node that is newest; nothing if
  // there is none, or the other end has dialled it.
  virtual std::optional<Address> dialled(NodeId node) = 0;
  // Begins to connect to a node that was reached, if there is no connection.
  virtual void open(NodeId node, gossip::Plane plane) = 0;
  // Queues the frames of one message, and dials where that is needed and possible.
  virtual void send(const Target& to, gossip::Plane plane, gossip::Frames frames) = 0;
  // Sends a control message of one frame over the connection with a node of that id that is newest:
  // the node may be none that this one knows, or another one of its name. Returns whether there is
  // such a connection.
  virtual bool answer(NodeId to, gossip::Frames frames) = 0;
  // Closes the connection that was dialled, once what was sent has left.
  virtual void hang_up(const Target& from, gossip::Plane plane) = 0;
};

}  // namespace starling::daemon
