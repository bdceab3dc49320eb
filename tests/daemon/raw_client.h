// RawClient: a TCP connection that sends whatever a test likes, HTTP or not.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/endpoint.h"

namespace starling::daemon {

class RawClient {
 public:
  explicit RawClient(const Endpoint& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    // Nothing takes that long unless it never comes.
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port);
    ::inet_pton(AF_INET, server.host.c_str(), &address.sin_addr);
    REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  ~RawClient() { ::close(socket_); }

  // False when the server has closed already.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // As many bytes as go now, perhaps none; nothing when the server has closed already.
  std::optional<std::size_t> send_some(std::string_view bytes) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    // Behind a full queue the system tells of a closed connection a minute later.
    pollfd state = {.fd = socket_, .events = POLLRDHUP, .revents = 0};
    const bool has_closed = ::poll(&state, 1, 0) > 0;
    return errno == EAGAIN && !has_closed ? std::optional<std::size_t>(0) : std::nullopt;
  }
  void finish() { ::shutdown(socket_, SHUT_WR); }

  // Until `mark` was read, or the server closes.
  std::string read_until(std::string_view mark) {
    std::string text;
    char block[4096];
    while (text.find(mark) == std::string::npos) {
      const ssize_t got = ::recv(socket_, block, sizeof block, 0);
      if (got <= 0) break;
      text.append(block, static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string read_all() { return read_until("\r\n\r\nno server says this"); }

  // Whether there is something to read, or the server has closed, within the time.
  bool has_news(int milliseconds) {
    pollfd poll = {.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&poll, 1, milliseconds) > 0;
  }

 private:
  int socket_;
};

}  // namespace starling::daemon
