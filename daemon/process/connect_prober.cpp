#include "daemon/process/connect_prober.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/process/descriptors.h"
#include "daemon/process/socket_connect.h"
#include "gossip/wire/connection_rules.h"

namespace starling::daemon {

ConnectProber::ConnectProber()
    : attempts_limit_(std::clamp<std::size_t>(descriptors_allowed() / 16 / kAttemptDescriptors, 1,
                                              kAttemptsLimit)) {}

void ConnectProber::probe(const Target& target, const Endpoint& where) {
  if (attempts_.size() >= attempts_limit_ ||
      std::ranges::find(attempts_, target, &Attempt::target) != attempts_.end())
    return;
  if (!numeric_address(where, SOCK_STREAM)) return;
  const Clock::time_point now = Clock::now();
  attempts_.push_back({target, where, {}, now, now + gossip::kConnectPatience});
  if (const Outcome outcome = try_again(attempts_.back()); outcome != Outcome::undecided) {
    if (outcome == Outcome::refused) found_.emplace_back(target, Finding::refused);
    attempts_.pop_back();
  }
}

ConnectProber::Outcome ConnectProber::try_again(Attempt& attempt) {
  attempt.next_try += gossip::kConnectTryEvery;
  SocketConnect connect = begin_connect(attempt.address);
  if (connect.socket) attempt.sockets.push_back(std::move(connect.socket));
  if (connect.error == 0) return Outcome::accepted;
  return connect.error == ECONNREFUSED ? Outcome::refused : Outcome::undecided;
}

ConnectProber::Outcome ConnectProber::outcome_of(const Attempt& attempt) {
  for (const OpenFile& socket : attempt.sockets) {
    pollfd item{socket.number(), POLLOUT, 0};
    if (::poll(&item, 1, 0) <= 0) continue;
    const int error = connect_error(socket);
    if (error == 0 && (item.revents & POLLOUT) && !(item.revents & POLLHUP))
      return Outcome::accepted;
    if (error == ECONNREFUSED) return Outcome::refused;
  }
  return Outcome::undecided;
}

void ConnectProber::look(const std::function<void(const Target&, Finding)>& found) {
  const Clock::time_point now = Clock::now();
  std::erase_if(attempts_, [&](Attempt& attempt) {
    Outcome outcome = outcome_of(attempt);
    if (outcome == Outcome::undecided && now >= attempt.next_try && now < attempt.until)
      outcome = try_again(attempt);
    if (outcome == Outcome::undecided && now < attempt.until) return false;
    if (outcome != Outcome::accepted)
      found_.emplace_back(attempt.target,
                          outcome == Outcome::refused ? Finding::refused : Finding::unanswered);
    return true;
  });
  for (const auto& [target, finding] : std::exchange(found_, {})) found(target, finding);
}

}  // namespace starling::daemon
