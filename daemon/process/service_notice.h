// ServiceNotice: notifies the supervisor of the process, such as systemd, that the node is ready,
// what it does, that its loop runs, and that it stops. The variable NOTIFY_SOCKET (sd_notify(3))
// names the supervisor's socket; without it nothing is sent. One thread.
#pragma once

#include <functional>
#include <string>

#include "base/time.h"
#include "gossip/status.h"

namespace starling::daemon {

class ServiceNotice {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceNotice();

  // Reports what the process does before its loop runs.
  void prepares(const std::string& what);
  // To be called in every turn of the loop. The first call reports that the node is ready; later
  // ones feed the watchdog four times in its limit, and report the line of `describe` every five
  // seconds if it changed. A hanging loop stops calling this, and the supervisor ends the process.
  void turned(Time now, const std::function<std::string()>& describe);
  // The node leaves. Reported once.
  void stops();

 private:
  void tell_status(Time now, const std::string& line);

  bool is_wanted_ = false;
  bool is_ready_ = false, is_stopping_ = false;
  Duration feed_every_{};  // 0: there is no watchdog
  Time fed_at_{}, described_at_{};
  std::string line_;  // the one reported last
};

// "training, round 220, loss 0.142, 8 members".
std::string service_line(const gossip::Status& status);

}  // namespace starling::daemon
