#include "daemon/process/stop_signals.h"

#include <fcntl.h>

#include <csignal>

#include "daemon/process/open_file.h"

namespace starling::daemon {

void handle_stop_signals(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
  // The parent process may have blocked them.
  sigset_t all;
  sigemptyset(&all);
  sigaddset(&all, SIGINT);
  sigaddset(&all, SIGTERM);
  sigaddset(&all, SIGHUP);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
}

void ignore_hangups_of_services() {
  const OpenFile terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal) std::signal(SIGHUP, SIG_IGN);
}

}  // namespace starling::daemon
