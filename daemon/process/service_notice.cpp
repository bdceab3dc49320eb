#include "daemon/process/service_notice.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace starling::daemon {
namespace {

constexpr Duration kDescribeEvery = std::chrono::seconds(5);

// A failure to reach the supervisor is ignored.
void tell_service(const std::string& text) {
  (void)::sd_notify(0, text.c_str());
}

// A line end would begin another assignment to the supervisor.
std::string status_word(const std::string& text) {
  return "STATUS=" + printable(text);
}

}  // namespace

ServiceNotice::ServiceNotice() : is_wanted_(std::getenv("NOTIFY_SOCKET") != nullptr) {
  std::uint64_t limit_us = 0;
  if (::sd_watchdog_enabled(0, &limit_us) > 0)
    feed_every_ = std::chrono::microseconds(limit_us / 4);
}

void ServiceNotice::prepares(const std::string& what) {
  if (is_wanted_) tell_service(status_word(what));
}

void ServiceNotice::turned(Time now, const std::function<std::string()>& describe) {
  if (!is_wanted_) return;
  const bool is_first = !is_ready_;
  is_ready_ = true;
  if (is_first && !is_stopping_) tell_service("READY=1");
  if (feed_every_ > Duration::zero() && (is_first || now - fed_at_ >= feed_every_)) {
    fed_at_ = now;
    tell_service("WATCHDOG=1");
  }
  if (is_stopping_) return;
  if (is_first || now - described_at_ >= kDescribeEvery) tell_status(now, describe());
}

void ServiceNotice::tell_status(Time now, const std::string& line) {
  described_at_ = now;
  if (line == line_) return;
  line_ = line;
  tell_service(status_word(line));
}

void ServiceNotice::stops() {
  if (!is_wanted_ || is_stopping_) return;
  is_stopping_ = true;
  tell_service("STOPPING=1\nSTATUS=takes leave");
}

std::string service_line(const gossip::Status& status) {
  const std::size_t members = count_in(status.members, gossip::Liveness::alive);
  const std::string loss = status.run.steps > 0 && std::isfinite(status.run.loss)
                               ? fmt::format("loss {:.4g}, ", status.run.loss)
                               : std::string();
  return fmt::format("{}, round {}, {}{} member{}", name(status.state), status.run.round, loss,
                     members, members == 1 ? "" : "s");
}

}  // namespace starling::daemon
