#include "daemon/knock.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

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

}  // namespace

Knocker::~Knocker() {
  for (const Attempt& attempt : attempts_) ::close(attempt.descriptor);
}

void Knocker::knock(const Endpoint& at) {
  if (attempts_.size() >= kAttemptsLimit) return;
  const Addresses address = numeric_address(at);
  if (!address) return;
  const int descriptor =
      ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const bool is_open = ::connect(descriptor, address->ai_addr, address->ai_addrlen) == 0;
  if (!is_open && errno == EINPROGRESS) {
    attempts_.push_back({at, descriptor, std::chrono::steady_clock::now() + kPatience});
    return;
  }
  if (!is_open && errno == ECONNREFUSED) refused_.push_back(at);
  ::close(descriptor);
}

void Knocker::look(const std::function<void(const Endpoint&)>& refused) {
  std::erase_if(attempts_, [this](const Attempt& attempt) {
    pollfd item{attempt.descriptor, POLLOUT, 0};
    const bool is_decided = ::poll(&item, 1, 0) > 0;
    if (!is_decided && std::chrono::steady_clock::now() < attempt.until) return false;
    if (is_decided && connection_error(attempt.descriptor) == ECONNREFUSED)
      refused_.push_back(attempt.at);
    ::close(attempt.descriptor);
    return true;
  });
  for (const Endpoint& at : std::exchange(refused_, {})) refused(at);
}

}  // namespace starling::daemon
