// Transport: frames in, frames out, over ZeroMQ. Two sockets receive, one per plane; one socket per
// peer and plane sends. One thread owns it. Sending never waits: control frames that do not fit are
// dropped (gossip repeats itself), bulk messages queue, at most two per peer, where a newer vector
// replaces one that has not begun. A message whose connection breaks is abandoned.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/payload.h"
#include "base/result.h"
#include "base/time.h"
#include "daemon/process/descriptors.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::daemon {

// One received message of two frames. `header` is valid during the call; `body` may be kept.
using FrameHandler =
    std::function<void(gossip::Plane, std::span<const std::byte> header, Payload body)>;

class Transport {
 public:
  // Binds both planes; a port of 0 takes a free one. Beyond the shares the connection that was used
  // longest ago is closed, and reopened when needed.
  static Result<std::unique_ptr<Transport>> bind(const Endpoint& control, const Endpoint& bulk,
                                                 const DescriptorShares& shares = {});
  ~Transport();

  Endpoint control() const;
  Endpoint bulk() const;

  // Queues the frames of one message.
  void send(const Endpoint& to, gossip::Plane plane, gossip::Frames frames);
  void hang_up(const Endpoint& to);

  // Waits until something arrives, can be sent, or a descriptor of `wakes` is readable, at most for
  // `timeout`; then hands over at most kBatch messages per plane and sends what it can.
  void poll(Duration timeout, std::span<const int> wakes, const FrameHandler& handler);
  // Waits at most `timeout` until everything queued has left this process.
  void flush(Duration timeout);

  std::uint64_t dropped() const { return dropped_; }
  // Whether a message, or a part of one, waits here because ZeroMQ's queue is full.
  bool has_queued() const;

  // Name and value of every option that the rules fix, read back from a live sending and a live
  // receiving socket, for the test of the rules.
  std::map<std::string, int> read_back_options() const;

  static constexpr std::size_t kBatch = 64;
  // Between two looks at what connections hold. Longer: an unfinished message grows further.
  static constexpr std::chrono::milliseconds kWatchEvery{200};
  // Descriptors of a connection of each plane, its mailbox and watch included.
  static constexpr std::size_t kControlDescriptors = 2, kBulkDescriptors = 4;

 private:
  struct Sockets;
  struct Peer;
  explicit Transport(std::unique_ptr<Sockets> sockets);
  Peer* peer(const Endpoint& to, gossip::Plane plane);
  void make_room(gossip::Plane plane);
  void push(Peer& peer);
  void give_up_begun(Peer& peer);
  void watch_inbound(const FrameHandler& handler);

  std::unique_ptr<Sockets> sockets_;
  std::uint64_t dropped_ = 0;
  std::size_t sending_share_ = 0;
  std::uint64_t uses_ = 0, peers_made_ = 0;
  std::chrono::steady_clock::time_point next_watch_{};
};

}  // namespace starling::daemon
