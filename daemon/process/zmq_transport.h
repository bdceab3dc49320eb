// ZmqTransport: the transport of a process, over ZeroMQ. It keeps at most one connection a peer and
// plane in use, dialled by either end, and uses it both ways. The first frame each way is a
// greeting; a connection without one carries nothing. One thread owns it. Sending never waits:
// control frames that do not fit are dropped (gossip repeats itself), bulk messages queue, at most
// two per peer, where a newer vector replaces one that has not begun. A message whose connection
// breaks is abandoned.
//
// Where both ends have dialled, the connection dialled by the node of the lower id stays. The other
// is used until the message that has begun on it is sent.
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

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/payload.h"
#include "base/result.h"
#include "base/time.h"
#include "daemon/process/descriptors.h"
#include "daemon/process/guard.h"
#include "daemon/process/key_answers.h"
#include "daemon/process/lines.h"
#include "daemon/process/transport.h"
#include "daemon/process/zap_handler.h"
#include "gossip/io.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::daemon {

// One received message of two frames. An empty header: a message was refused unread, because it was
// too large.
using FrameHandler = std::function<void(gossip::Received)>;

class ZmqTransport : public Transport {
 public:
  struct Options {
    NodeId self;             // the id that greetings give
    Endpoint control, bulk;  // a port of 0 takes a free one
    // Beyond them the connection that was used longest ago is closed, and reopened when needed.
    DescriptorShares shares = {};
    std::shared_ptr<gossip::Credentials> credentials = nullptr;  // null: nothing is encrypted
  };
  // Binds both planes. With credentials it first tests that ZeroMQ lets in nobody without a key.
  static Result<std::unique_ptr<ZmqTransport>> bind(const Options& options);
  ~ZmqTransport() override;

  Endpoint control() const;
  Endpoint bulk() const;

  void reach(NodeId node, gossip::Plane plane, const std::optional<Address>& at) override;
  void open(NodeId node, gossip::Plane plane) override;
  void send(const Target& to, gossip::Plane plane, gossip::Frames frames) override;
  // A peer that has dialled the wrong port takes the plane for another one.
  bool answer(NodeId to, gossip::Plane plane, gossip::Frames frames) override;
  void hang_up(const Target& from, gossip::Plane plane) override;

  // Waits until something arrives, can be sent, or a descriptor of `wakes` is readable, at most for
  // `timeout`; then hands over at most kBatch messages per socket and sends what it can.
  void poll(Duration timeout, std::span<const int> wakes, const FrameHandler& handler);
  // Waits at most `timeout` until everything queued has left this process.
  void flush(Duration timeout);

  std::uint64_t dropped() const;
  // Whether a message, or a part of one, waits here because ZeroMQ's queue is full.
  bool has_queued() const;
  // The connections in use, of both planes.
  std::size_t connections() const;

  Guard& guard() { return *guard_; }

  // Name and value of every option that the rules fix, read back from live sockets, for the test of
  // the rules.
  std::map<std::string, int> read_back_options() const;

  static constexpr std::size_t kBatch = 64;
  // Between two looks at what connections hold. Longer: an unfinished message grows further.
  static constexpr std::chrono::milliseconds kWatchEvery{200};

 private:
  class Plane;
  explicit ZmqTransport(std::unique_ptr<Guard> guard);
  Result<void> open_door(const Options& options);
  Plane& of(gossip::Plane plane) const;
  void watch(const FrameHandler& handler);

  std::unique_ptr<Guard> guard_;
  std::shared_ptr<zmq::context_t> context_;
  std::unique_ptr<ZapHandler> zap_;  // null: without keys
  std::vector<KeyAnswers> answers_;  // at each port; none without keys
  std::unique_ptr<Plane> control_, bulk_;
  std::chrono::steady_clock::time_point next_watch_{};
};

}  // namespace starling::daemon
