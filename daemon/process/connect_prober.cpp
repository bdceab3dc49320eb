#include "daemon/process/connect_prober.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "daemon/process/descriptors.h"

namespace starling::daemon {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses numeric_address(const Endpoint& at) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found) != 0)
    found = nullptr;
  return {found, &::freeaddrinfo};
}

int connection_error(int descriptor) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void close_all(std::vector<int>& descriptors) {
  for (const int descriptor : std::exchange(descriptors, {})) ::close(descriptor);
}

}  // namespace

ConnectProber::ConnectProber()
    : attempts_limit_(std::clamp<std::size_t>(descriptors_allowed() / 16 / kAttemptDescriptors, 1,
                                              kAttemptsLimit)) {}

ConnectProber::~ConnectProber() {
  for (Attempt& attempt : attempts_) close_all(attempt.descriptors);
}

void ConnectProber::probe(const Endpoint& at, const Endpoint& where) {
  if (attempts_.size() >= attempts_limit_ ||
      std::ranges::find(attempts_, at, &Attempt::at) != attempts_.end())
    return;
  if (!numeric_address(where)) return;
  const Clock::time_point now = Clock::now();
  attempts_.push_back({at, where, {}, now, now + kPatience});
  if (const Outcome outcome = try_again(attempts_.back()); outcome != Outcome::undecided) {
    if (outcome == Outcome::refused) found_.emplace_back(at, Finding::refused);
    close_all(attempts_.back().descriptors);
    attempts_.pop_back();
  }
}

ConnectProber::Outcome ConnectProber::try_again(Attempt& attempt) {
  attempt.next_try += kTryEvery;
  const Addresses address = numeric_address(attempt.address);
  const int descriptor =
      ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return Outcome::undecided;
  attempt.descriptors.push_back(descriptor);
  if (::connect(descriptor, address->ai_addr, address->ai_addrlen) == 0) return Outcome::accepted;
  return errno == ECONNREFUSED ? Outcome::refused : Outcome::undecided;
}

ConnectProber::Outcome ConnectProber::outcome_of(Attempt& attempt) {
  for (const int descriptor : attempt.descriptors) {
    pollfd item{descriptor, POLLOUT, 0};
    if (::poll(&item, 1, 0) <= 0) continue;
    const int error = connection_error(descriptor);
    if (error == 0 && (item.revents & POLLOUT) && !(item.revents & POLLHUP))
      return Outcome::accepted;
    if (error == ECONNREFUSED) return Outcome::refused;
  }
  return Outcome::undecided;
}

void ConnectProber::look(const std::function<void(const Endpoint&, Finding)>& found) {
  const Clock::time_point now = Clock::now();
  std::erase_if(attempts_, [&](Attempt& attempt) {
    Outcome outcome = outcome_of(attempt);
    if (outcome == Outcome::undecided && now >= attempt.next_try && now < attempt.until)
      outcome = try_again(attempt);
    if (outcome == Outcome::undecided && now < attempt.until) return false;
    if (outcome != Outcome::accepted)
      found_.emplace_back(attempt.at,
                          outcome == Outcome::refused ? Finding::refused : Finding::unanswered);
    close_all(attempt.descriptors);
    return true;
  });
  for (const auto& [at, finding] : std::exchange(found_, {})) found(at, finding);
}

}  // namespace starling::daemon
