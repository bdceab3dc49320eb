#include "daemon/process/port_probe.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "daemon/process/host_names.h"
#include "daemon/process/socket_connect.h"

namespace starling::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

int remaining_ms(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

// ---- names

// The address of each endpoint, or what is wrong with its host name.
class LookUp {
 public:
  LookUp(std::span<const Endpoint> endpoints, milliseconds patience) {
    const auto until = Clock::now() + patience;
    while (!all_known(endpoints) && remaining_ms(until) > 0) {
      pollfd item{names_.descriptor(), POLLIN, 0};
      ::poll(&item, 1, remaining_ms(until));
      for (const HostNames::Finding& found : names_.take_found())
        if (!found.addresses) unknown_[found.at.at.host] = true;
    }
  }

  std::optional<Endpoint> address(const Endpoint& endpoint) {
    return names_.find_or_look_up(endpoint);
  }
  PortState problem(const Endpoint& endpoint) const {
    return unknown_.contains(endpoint.host) ? PortState::unknown_name : PortState::slow_names;
  }

 private:
  bool all_known(std::span<const Endpoint> endpoints) {
    return std::ranges::all_of(endpoints, [this](const Endpoint& endpoint) {
      return unknown_.contains(endpoint.host) || names_.find_or_look_up(endpoint).has_value();
    });
  }

  HostNames names_;
  std::map<std::string, bool> unknown_;
};

// ---- connections

struct Attempt {
  OpenFile socket = OpenFile();
  bool is_connected = false;
  std::string heard = {};
  std::optional<PortState> state = {};  // once it is decided
};

// The first bytes of ZMTP; the eight in the middle are a length that is ignored.
constexpr std::size_t kGreetingBytes = 10;
constexpr char kGreetingBegin = '\xff', kGreetingEnd = '\x7f';

PortState state_of_error(int error) {
  if (error == ECONNREFUSED || error == ECONNRESET) return PortState::refused;
  return error == ETIMEDOUT ? PortState::unanswered : PortState::unreachable;
}

PortState state_of_words(const std::string& heard) {
  if (heard.empty()) return PortState::silent;
  const bool greets = heard.size() == kGreetingBytes && heard.front() == kGreetingBegin &&
                      heard.back() == kGreetingEnd;
  return greets ? PortState::greets : PortState::other;
}

Attempt begin(const Endpoint& address) {
  auto [socket, error] = begin_connect(address);
  Attempt attempt{.socket = std::move(socket)};
  if (!attempt.socket)
    attempt.state = PortState::unreachable;
  else if (error != 0 && error != EINPROGRESS)
    attempt.state = state_of_error(error);
  return attempt;
}

void connected(Attempt& attempt, Awaited awaited) {
  const int error = connect_error(attempt.socket);
  attempt.is_connected = error == 0;
  if (error != 0)
    attempt.state = state_of_error(error);
  else if (awaited == Awaited::connection)
    attempt.state = PortState::silent;
}

void hear(Attempt& attempt) {
  std::array<char, kGreetingBytes> bytes{};
  const ssize_t count =
      ::recv(attempt.socket.number(), bytes.data(), kGreetingBytes - attempt.heard.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) attempt.heard.append(bytes.data(), static_cast<std::size_t>(count));
  if (count <= 0 || attempt.heard.size() == kGreetingBytes)
    attempt.state = state_of_words(attempt.heard);
}

// Polls the undecided attempts once; false if all are decided.
bool look_at(std::vector<Attempt>& attempts, Awaited awaited, int timeout_ms) {
  std::vector<pollfd> items;
  std::vector<Attempt*> open;
  for (Attempt& attempt : attempts) {
    if (attempt.state) continue;
    const short events = attempt.is_connected ? POLLIN : POLLOUT;
    items.push_back({attempt.socket.number(), events, 0});
    open.push_back(&attempt);
  }
  if (open.empty()) return false;
  ::poll(items.data(), items.size(), timeout_ms);
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (items[k].revents == 0) continue;
    if (open[k]->is_connected)
      hear(*open[k]);
    else
      connected(*open[k], awaited);
  }
  return true;
}

}  // namespace

std::vector<PortState> probe_ports(std::span<const Endpoint> endpoints, Awaited awaited,
                                   milliseconds patience) {
  ENSURE(endpoints.size() <= kProbedPortsLimit, "no more ports than can be probed at once");
  LookUp names(endpoints, patience);
  std::vector<Attempt> attempts;
  for (const Endpoint& endpoint : endpoints) {
    const auto address = names.address(endpoint);
    attempts.push_back(address ? begin(*address) : Attempt{.state = names.problem(endpoint)});
  }
  const auto until = Clock::now() + patience;
  while (remaining_ms(until) > 0 && look_at(attempts, awaited, remaining_ms(until))) {
  }
  std::vector<PortState> states;
  for (const Attempt& attempt : attempts) {
    const PortState late =
        attempt.is_connected ? state_of_words(attempt.heard) : PortState::unanswered;
    states.push_back(attempt.state.value_or(late));
  }
  return states;
}

}  // namespace starling::daemon
