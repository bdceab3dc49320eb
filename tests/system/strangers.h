// Those that speak to a node with keys in their own way: tools of the tests of trust.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "gossip/transport/greeting.h"
#include "gossip/trust/notary.h"
#include "gossip/wire/transfer.h"
#include "tests/gossip/certificates.h"
#include "tests/system/harness.h"

namespace starling::test {

inline constexpr std::uint64_t kTrustDay = 86'400;

inline std::uint64_t wall_time() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

inline const KeyPair& cluster_key() {
  static const KeyPair kKey = test_key(90);
  return kKey;
}

// Valid for a year, by the cluster key of these tests.
inline gossip::Certificate draft_for(const std::string& name, const KeyPair& key) {
  const std::uint64_t now = wall_time();
  return {.name = name,
          .key = key.public_key(),
          .not_before = now - 60,
          .not_after = now + 365 * kTrustDay};
}

inline gossip::Certificate valid(const std::string& name, const KeyPair& key) {
  return gossip::sign_certificate(draft_for(name, key), cluster_key()).value();
}

// A member's connection to the victim under a routing id of its own choice, which ZeroMQ sends in
// its handshake.
class Dealer {
 public:
  Dealer(const Endpoint& at, const std::string& name, int key, const std::string& routing_id)
      : name_(name), key_(test_key(key)) {
    const Secret secret = key_.curve_secret();
    const auto set = [&](auto option, const auto& bytes) {
      socket_.set(option, zmq::const_buffer(bytes.data(), bytes.size()));
    };
    set(zmq::sockopt::curve_publickey, curve_key(key_.public_key())->bytes);
    set(zmq::sockopt::curve_secretkey, secret.bytes());
    set(zmq::sockopt::curve_serverkey, curve_key(test_key(91).public_key())->bytes);
    socket_.set(zmq::sockopt::routing_id, routing_id);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.connect("tcp://" + to_string(at));
    say(gossip::greeting_of(node_id(name), gossip::Plane::control, encode(valid(name, key_))));
  }
  void join() {
    gossip::Member self;
    self.id = node_id(name_);
    self.name = name_;
    self.control = self.http = {"hidden-" + name_, 0};
    self.incarnation = incarnation_;
    self.version = 1;
    gossip::Body join = gossip::Join{self};
    notary_.sign(join);
    const gossip::Message message{
        {stable_hash("starling"), self.id, self.incarnation, ++sequence_}, join, {}};
    say(cutter_.cut(message).next().header);
  }
  // How many messages have come.
  std::size_t heard() {
    for (zmq::message_t part; socket_.recv(part, zmq::recv_flags::dontwait);)
      heard_ += part.more() ? 0 : 1;
    return heard_;
  }

 private:
  void say(const std::string& header) {
    socket_.send(zmq::buffer(header), zmq::send_flags::sndmore);
    socket_.send(zmq::message_t(), zmq::send_flags::none);
  }

  std::string name_;
  KeyPair key_;
  std::uint64_t incarnation_ = 1000 * wall_time();
  gossip::Notary notary_{credentials_of(valid(name_, key_), KeyPair(key_.seed()), cluster_key()),
                         stable_hash("starling"), node_id(name_)};
  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
  gossip::Cutter cutter_;
  std::uint64_t sequence_ = 0;
  std::size_t heard_ = 0;
};

// Carries connections to a port until one has said something, and keeps what the dialling end sent.
class Tap {
 public:
  explicit Tap(const Endpoint& to) : to_(to), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    at_ = {"127.0.0.1", ntohs(address.sin_port)};
    thread_ = std::thread([this] {
      while (sent_.empty()) carry();
      has_ended_ = true;
    });
  }
  ~Tap() {
    thread_.join();
    ::close(listener_);
  }
  const Endpoint& at() const { return at_; }
  // After the connection has ended.
  const std::string& sent() {
    while (!has_ended_) std::this_thread::yield();
    return sent_;
  }

 private:
  void carry() {
    const int there = ::accept(listener_, nullptr, nullptr);
    const int here = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(to_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(here, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd ends[] = {{there, POLLIN, 0}, {here, POLLIN, 0}};
    for (bool goes_on = true; goes_on;) {
      ::poll(ends, 2, -1);
      for (const int k : {0, 1}) {
        if (ends[k].revents == 0) continue;
        char bytes[65536];
        const ssize_t got = ::recv(ends[k].fd, bytes, sizeof bytes, 0);
        goes_on = goes_on && got > 0;
        if (got <= 0) continue;
        if (k == 0) sent_.append(bytes, static_cast<std::size_t>(got));
        ::send(ends[1 - k].fd, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL);
      }
    }
    ::close(there);
    ::close(here);
  }

  Endpoint to_, at_;
  int listener_;
  std::string sent_;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

}  // namespace starling::test
