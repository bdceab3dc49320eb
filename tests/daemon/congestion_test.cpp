#include "daemon/process/congestion.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

using namespace starling::daemon;

namespace {

// Both ends of a connection over loopback.
struct Connection {
  Connection() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof(at);
    REQUIRE(::bind(listener, address, size) == 0);
    REQUIRE(::listen(listener, 1) == 0);
    REQUIRE(::getsockname(listener, address, &size) == 0);
    ends[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::connect(ends[0], address, size) == 0);
    ends[1] = ::accept(listener, nullptr, nullptr);
    ::close(listener);
  }
  ~Connection() {
    for (const int end : ends) ::close(end);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::array<int, 2> ends{};
};

bool take(int descriptor, const std::string& name) {
  const auto size = static_cast<socklen_t>(name.size());
  return ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) == 0;
}

std::string taken_by(int descriptor) {
  std::array<char, 16> name{};
  socklen_t size = name.size();
  REQUIRE(::getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) == 0);
  return name.data();
}

}  // namespace

TEST_CASE("Both ends of a connection over a short round trip take Reno in place of BBR") {
  const Connection connection;
  for (const int end : connection.ends) {
    if (!take(end, "bbr")) {
      MESSAGE("skipped: this host does not allow BBR");
      return;
    }
    choose_congestion_control(end);
    CHECK(taken_by(end) == "reno");
  }
}

TEST_CASE("A congestion control other than BBR stays and what is no connection is left alone") {
  const Connection connection;
  const std::string before = taken_by(connection.ends[0]);
  REQUIRE(take(connection.ends[1], "reno"));
  choose_congestion_control(connection.ends[1]);
  CHECK(taken_by(connection.ends[1]) == "reno");
  CHECK(taken_by(connection.ends[0]) == before);
  choose_congestion_control(-1);
  const int unconnected = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  choose_congestion_control(unconnected);
  ::close(unconnected);
}
