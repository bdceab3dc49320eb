// Streams: the bound of any transport. Two processes on loopback send each other bytes at once over
// plain TCP, one stream a direction, each with a thread that writes and one that reads.
//   BYTES ROUNDS    GB/s each way
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>
#include <thread>

#include "bench/measure.h"
#include "bench/team.h"

namespace starling::bench {
namespace {

constexpr std::size_t kWarmUpRounds = 3;
constexpr int kSocketBuffer = 4 << 20;  // as the transport's

struct Order {
  std::size_t bytes = 0;
  std::size_t rounds = 0;
};

int stream_socket() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  ENSURE(descriptor >= 0, "a socket can be had");
  const int one = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof(kSocketBuffer));
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof(kSocketBuffer));
  return descriptor;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One process's two ends: it connects to the other's listener and accepts from its own.
struct Ends {
  int out = -1;
  int in = -1;
};

Ends meet(int parent) {
  const int listener = stream_socket();
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ENSURE(::bind(listener, generic, length) == 0 && ::listen(listener, 1) == 0, "a free port");
  ::getsockname(listener, generic, &length);
  write_value(parent, ntohs(address.sin_port));
  address = loopback(read_value<std::uint16_t>(parent));
  Ends ends{.out = stream_socket()};
  ENSURE(::connect(ends.out, generic, sizeof(address)) == 0, "the other listens");
  ends.in = ::accept(listener, nullptr, nullptr);
  ENSURE(ends.in >= 0, "the other connects");
  ::close(listener);
  return ends;
}

double run(const Ends& ends, std::size_t rank, const Order& order) {
  const std::vector<char> sent(order.bytes, static_cast<char>('a' + rank));
  std::vector<char> received(order.bytes);
  std::vector<double> times;
  for (std::size_t i = 0; i < kWarmUpRounds + order.rounds; ++i) {
    const auto start = Clock::now();
    std::thread writer([&] { write_all(ends.out, sent.data(), sent.size()); });
    ENSURE(read_all(ends.in, received.data(), received.size()), "the other sends");
    writer.join();
    if (i >= kWarmUpRounds) times.push_back(seconds_since(start));
  }
  for (char byte : received) ENSURE(byte == static_cast<char>('b' - rank), "what came was sent");
  return median(std::move(times));
}

void work(std::size_t rank, int parent) {
  const Ends ends = meet(parent);
  for (Order order; read_all(parent, &order, sizeof(order));)
    write_value(parent, run(ends, rank, order));
}

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  const Team team(2, work);
  const auto first = read_value<std::uint16_t>(team.descriptor(0));
  const auto second = read_value<std::uint16_t>(team.descriptor(1));
  write_value(team.descriptor(0), second);
  write_value(team.descriptor(1), first);
  serve([&](const std::string& request) {
    Words words(request);
    const std::size_t bytes = words.number();
    team.tell_all(Order{.bytes = bytes, .rounds = words.number()});
    const auto seconds = read_value<double>(team.descriptor(0));
    static_cast<void>(read_value<double>(team.descriptor(1)));
    report(request, static_cast<double>(bytes) / seconds * 1e-9, "GB/s");
  });
}
