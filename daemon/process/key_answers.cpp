#include "daemon/process/key_answers.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

#include "daemon/process/log.h"
#include "daemon/process/socket_connect.h"
#include "gossip/transport/greeting.h"

namespace starling::daemon {

KeyAnswers::KeyAnswers(const Endpoint& at, const std::string& certificate)
    : reply_(std::string(kKeyAnswerMark) + certificate) {
  const SystemAddress address = numeric_address(at, SOCK_DGRAM);
  if (!address || reply_.size() > kKeyQuestionBytes) return;
  OpenFile socket(::socket(address->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket && ::bind(socket.number(), address->ai_addr, address->ai_addrlen) == 0)
    socket_ = std::move(socket);
  else
    log::warning(
        "nobody can ask this node for its key at {}/udp, which is in use; seeds that name that "
        "port need the key, HOST:PORT#KEY",
        to_string(at));
}

void KeyAnswers::answer() {
  std::array<std::byte, kKeyQuestionBytes + 1> question;
  for (int k = 0; socket_ && k < kBatch; ++k) {
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    const ssize_t got = ::recvfrom(socket_.number(), question.data(), question.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0) return;
    const auto bytes = std::span(question).first(static_cast<std::size_t>(got));
    if (bytes.size() == kKeyQuestionBytes && gossip::begins_with(bytes, kKeyQuestionMark))
      ::sendto(socket_.number(), reply_.data(), reply_.size(), 0,
               reinterpret_cast<const sockaddr*>(&from), size);
  }
}

}  // namespace starling::daemon
