// HTTP load: clients that keep their connections ask a server of this machine for documents, in one
// thread. Each has one request under way and asks the next as soon as the answer is there or, at a
// rate, when the request is due: its time counts from then, so that a server that stalls is not
// spared the requests that it held up.
//   PORT CONNECTIONS RATE MILLISECONDS PATH...    answers/s; RATE 0 is as many as there can be
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <deque>

#include "bench/measure.h"

namespace starling::bench {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;
constexpr std::size_t kHeadBytesLimit = 16 * 1024;
constexpr int kEventsAtOnce = 64;
constexpr double kPatience = 10;  // seconds after the end for what is under way

struct Order {
  std::uint16_t port = 0;
  std::size_t connections = 1;
  double rate = 0;  // requests/s of all connections together; 0 without a limit
  double seconds = 1;
  std::vector<std::string> requests;  // asked in turn
};

Order read_order(const std::string& line) {
  Words words(line);
  Order order;
  order.port = static_cast<std::uint16_t>(words.number());
  order.connections = words.number();
  order.rate = static_cast<double>(words.number());
  order.seconds = static_cast<double>(words.number()) * 1e-3;
  std::istringstream rest(line);
  std::string path;
  for (int i = 0; i < 4; ++i) rest >> path;
  while (rest >> path)
    order.requests.push_back(
        fmt::format("GET {} HTTP/1.1\r\nHost: localhost:{}\r\n"
                    "Accept: application/json\r\n\r\n",
                    path, order.port));
  ENSURE(order.connections > 0 && !order.requests.empty(), "an order has clients and paths");
  return order;
}

int connect_to(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  ENSURE(descriptor >= 0, "a socket can be had");
  const int one = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  ENSURE(::connect(descriptor, generic, sizeof(address)) == 0, "the server listens");
  return descriptor;
}

// What is still to come of one answer.
class Answer {
 public:
  // Takes bytes; true when the answer is complete. REQUIRES an answer with a Content-Length.
  bool take(std::string_view bytes) {
    if (in_body_) return count(bytes.size());
    head_.append(bytes);
    const std::size_t end = head_.find("\r\n\r\n");
    ENSURE(end != std::string::npos || head_.size() < kHeadBytesLimit,
           "the head of an answer ends");
    if (end == std::string::npos) return false;
    in_body_ = true;
    is_good_ = head_.starts_with("HTTP/1.1 200");
    body_bytes_ = left_ = content_length(std::string_view(head_).substr(0, end));
    return count(head_.size() - end - 4);
  }
  bool is_good() const { return is_good_; }
  std::size_t body_bytes() const { return body_bytes_; }

 private:
  static std::size_t content_length(std::string_view head) {
    constexpr std::string_view kName = "\r\nContent-Length: ";
    const std::size_t place = head.find(kName);
    ENSURE(place != std::string_view::npos, "an answer says how long it is");
    const std::string_view digits = head.substr(place + kName.size());
    std::size_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
  bool count(std::size_t bytes) {
    ENSURE(bytes <= left_, "an answer ends where it says");
    left_ -= bytes;
    return left_ == 0;
  }

  std::string head_;
  std::size_t body_bytes_ = 0, left_ = 0;
  bool in_body_ = false, is_good_ = false;
};

struct Client {
  int descriptor = -1;
  Clock::time_point due{};
  Answer answer;
};

// Answers and how long each took, in seconds.
struct Tally {
  std::vector<double> times;
  std::size_t bad = 0;     // not of status 200
  std::size_t closed = 0;  // connections, by the server
  std::size_t bytes = 0;   // of the last body
  double seconds = 0;      // until the last answer

  double quantile(double share) {
    if (times.empty()) return 0;
    const auto place =
        times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), place, times.end());
    return *place;
  }
};

class Load {
 public:
  explicit Load(const Order& order)
      : order_(order), epoll_(::epoll_create1(0)), clients_(order.connections) {
    ENSURE(epoll_ >= 0, "an epoll can be had");
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      clients_[i].descriptor = connect_to(order.port);
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[i].descriptor, &event);
      idle_.push_back(i);
    }
  }
  ~Load() {
    for (const Client& client : clients_) ::close(client.descriptor);
    ::close(epoll_);
  }

  Tally run() {
    begin_ = Clock::now();
    while (seconds_since(begin_) < order_.seconds || under_way() > 0) {
      ENSURE(seconds_since(begin_) < order_.seconds + kPatience, "every request is answered");
      ask_what_is_due();
      std::array<epoll_event, kEventsAtOnce> events;
      const timespec patience = until_next();
      const int count = ::epoll_pwait2(epoll_, events.data(), kEventsAtOnce, &patience, nullptr);
      for (int i = 0; i < count; ++i) read(static_cast<std::size_t>(events[i].data.u64));
      if (idle_.size() + tally_.closed == clients_.size() && idle_.empty()) break;
    }
    return std::move(tally_);
  }

 private:
  std::size_t under_way() const { return clients_.size() - idle_.size() - tally_.closed; }

  Clock::time_point due(std::size_t request) const {
    if (order_.rate == 0) return Clock::now();
    const std::chrono::duration<double> since(static_cast<double>(request) / order_.rate);
    return begin_ + std::chrono::duration_cast<Clock::duration>(since);
  }

  // How long nothing is to be done unless an answer comes: waking more often would take the
  // processor from the server.
  timespec until_next() const {
    constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(10);
    std::chrono::nanoseconds wait = kLongest;
    if (order_.rate > 0 && !idle_.empty())
      wait = std::clamp<std::chrono::nanoseconds>(due(asked_) - Clock::now(), {}, kLongest);
    return {.tv_sec = 0, .tv_nsec = wait.count()};
  }

  void ask_what_is_due() {
    for (; !idle_.empty(); idle_.pop_front()) {
      const Clock::time_point when = due(asked_);
      const std::chrono::duration<double> after = when - begin_;
      if (when > Clock::now() || after.count() >= order_.seconds) return;
      ask(clients_[idle_.front()], when);
    }
  }

  void ask(Client& client, Clock::time_point when) {
    const std::string& request = order_.requests[asked_++ % order_.requests.size()];
    client.due = when;
    client.answer = {};
    // A request is shorter than any socket's buffer.
    static_cast<void>(::send(client.descriptor, request.data(), request.size(), MSG_NOSIGNAL));
  }

  void read(std::size_t index) {
    Client& client = clients_[index];
    const ssize_t count = ::recv(client.descriptor, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return lose(index);
    if (!client.answer.take({buffer_.data(), static_cast<std::size_t>(count)})) return;
    tally_.times.push_back(seconds_since(client.due));
    tally_.bad += client.answer.is_good() ? 0 : 1;
    tally_.bytes = client.answer.body_bytes();
    tally_.seconds = seconds_since(begin_);
    idle_.push_back(index);
  }

  void lose(std::size_t index) {
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, clients_[index].descriptor, nullptr);
    std::erase(idle_, index);
    ++tally_.closed;
  }

  const Order& order_;
  int epoll_;
  std::vector<Client> clients_;
  std::deque<std::size_t> idle_;  // clients without a request, the longest idle one first
  std::vector<char> buffer_ = std::vector<char>(kReadBytes);
  Tally tally_;
  Clock::time_point begin_{};
  std::size_t asked_ = 0;
};

void answer(const std::string& request) {
  const Order order = read_order(request);
  Tally tally = Load(order).run();
  const double seconds = std::max(order.seconds, tally.seconds);
  fmt::print(
      "{{\"figure\": \"{}\", \"value\": {:.6g}, \"unit\": \"answers/s\", \"p50_ms\": {:.4g}, "
      "\"p99_ms\": {:.4g}, \"most_ms\": {:.4g}, \"answers\": {}, \"bad\": {}, \"closed\": {}, "
      "\"bytes\": {}}}\n",
      request, static_cast<double>(tally.times.size()) / seconds, tally.quantile(0.5) * 1e3,
      tally.quantile(0.99) * 1e3, tally.quantile(1) * 1e3, tally.times.size(), tally.bad,
      tally.closed, tally.bytes);
  std::fflush(stdout);
}

}  // namespace
}  // namespace starling::bench

int main() {
  starling::bench::serve(starling::bench::answer);
}
