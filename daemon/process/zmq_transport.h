// ZmqTransport: the transport of a process, over ZeroMQ. It listens at one port. It uses at most
// one connection a peer and plane, dialled by either end, in both directions. The first frame each
// way is a greeting, which names the plane; frames before it are not accepted. One thread owns it.
// Sending never blocks: control messages beyond the queue's limit are dropped (gossip repeats
// them); of bulk messages two a peer wait at most, and a newer vector replaces one that has not
// begun. A message whose connection breaks is dropped.
//
// If both ends have dialled, the connection dialled by the node of the lower id stays. The other is
// used until nothing was sent over it for half a second, so that messages stay in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/payload.h"
#include "base/time.h"
#include "daemon/process/clock.h"
#include "daemon/process/descriptors.h"
#include "daemon/process/key_answers.h"
#include "daemon/process/zap_handler.h"
#include "daemon/process/zmq_wire.h"
#include "gossip/io.h"
#include "gossip/transport/guard.h"
#include "gossip/transport/peer_queues.h"
#include "gossip/transport/transport.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::daemon {

// Takes one received frame. An empty header: a message was refused, because it was too large or had
// too many parts.
using FrameHandler = std::function<void(gossip::Received)>;

class ZmqTransport : public gossip::Transport {
 public:
  struct Options {
    NodeId self;      // the id in its greetings
    Endpoint listen;  // port 0: any free port
    // Beyond them the least recently used connection is closed, and reopened when needed.
    DescriptorShares shares = {};
    std::shared_ptr<gossip::Credentials> credentials = nullptr;  // null: nothing is encrypted
  };
  // With credentials it first tests that ZeroMQ rejects connections without a valid key.
  static Outcome<std::unique_ptr<ZmqTransport>> bind(const Options& options);

  // The address at which it listens.
  const Endpoint& endpoint() const { return at_; }

  void reach(NodeId node, const std::optional<Address>& at) override {
    queues_.reach(now(), node, at);
  }
  std::optional<Address> dialled(NodeId node) override { return queues_.dialled(node); }
  void open(NodeId node, gossip::Plane plane) override { queues_.open(now(), node, plane); }
  void send(const Target& to, gossip::Plane plane, gossip::Frames frames) override {
    queues_.send(now(), to, plane, std::move(frames));
  }
  bool answer(NodeId to, gossip::Frames frames) override {
    return queues_.answer(to, std::move(frames));
  }
  void hang_up(const Target& from, gossip::Plane plane) override {
    queues_.hang_up(now(), from, plane);
  }

  // Waits until something arrives, can be sent, or a descriptor of `wakes` is readable, at most for
  // `timeout`; then hands over at most kBatch messages per socket and sends what it can.
  void poll(Duration timeout, std::span<const int> wakes, const FrameHandler& handler);
  // Waits at most `timeout` until everything queued has left this process.
  void flush(Duration timeout);

  std::uint64_t dropped() const { return queues_.dropped(); }
  // Whether a message, or a part of one, waits here because ZeroMQ's queue is full.
  bool has_queued() const { return queues_.has_queued(); }
  // The connections in use, of both planes.
  std::size_t connections() const { return queues_.in_use(); }

  gossip::Guard& guard() { return guard_; }

  // Name and value of every option that the rules fix, read back from live sockets, for the test of
  // the rules.
  std::map<std::string, int> read_back_options() const { return wire_.read_back_options(); }

  static constexpr std::size_t kBatch = 64;

 private:
  explicit ZmqTransport(const Options& options);
  void take(const FrameHandler& handler);
  std::chrono::milliseconds patience();

  gossip::Guard guard_;
  zmq::context_t context_{1};
  std::unique_ptr<ZapHandler> zap_;  // null: without keys
  ZmqWire wire_;
  gossip::PeerQueues queues_;
  std::optional<KeyAnswers> answers_;  // none without keys
  Endpoint at_;
  bool is_readable_ = false;  // as patience() found
  Time next_watch_{};
  std::size_t closed_ = 0;  // connections, since memory was given back last
};

}  // namespace starling::daemon
