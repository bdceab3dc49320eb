#include "daemon/process/stop_signals.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <string>

#include "daemon/process/open_file.h"

namespace starling::daemon {
namespace {

// Standard output and standard error.
constexpr int kLogs[] = {STDOUT_FILENO, STDERR_FILENO};

// Set before the handler is.
void (*stop)(int) = nullptr;
bool had_terminal = false;
char paths[2][PATH_MAX] = {};  // of kLogs; empty for those that are no files

bool has_terminal() {
  return static_cast<bool>(OpenFile(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)));
}

void remember_logs() {
  for (std::size_t i = 0; i < std::size(kLogs); ++i) {
    struct stat info {};
    const std::string link = "/proc/self/fd/" + std::to_string(kLogs[i]);
    if (::fstat(kLogs[i], &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink == 0) continue;
    const ssize_t size = ::readlink(link.c_str(), paths[i], sizeof(paths[i]) - 1);
    paths[i][size < 0 ? 0 : size] = '\0';
  }
}

// A log that cannot be opened stays as it is.
void reopen_logs() {
  for (std::size_t i = 0; i < std::size(kLogs); ++i) {
    if (paths[i][0] == '\0') continue;
    const OpenFile log(::open(paths[i], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
    if (log) ::dup2(log.number(), kLogs[i]);
  }
}

// The kernel sends one when the terminal or its shell is gone; a shell sends one to its jobs when
// its terminal has closed, and other programs to ask for a new log.
void on_hangup(int number, siginfo_t* info, void*) {
  const int error = errno;
  if (info->si_code == SI_KERNEL || (had_terminal && !has_terminal()))
    stop(number);
  else
    reopen_logs();
  errno = error;
}

}  // namespace

void handle_stop_signals(void (*handler)(int)) {
  stop = handler;
  had_terminal = has_terminal();
  remember_logs();
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) {
    hangup = {};
    hangup.sa_flags = SA_SIGINFO;
    hangup.sa_sigaction = on_hangup;
    ::sigaction(SIGHUP, &hangup, nullptr);
  }
  // The parent process may have blocked them.
  sigset_t all;
  sigemptyset(&all);
  sigaddset(&all, SIGINT);
  sigaddset(&all, SIGTERM);
  sigaddset(&all, SIGHUP);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
}

}  // namespace starling::daemon
