#include "daemon/process/stop_signals.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <string>
#include <thread>

#include "daemon/process/open_file.h"

namespace starling::daemon {
namespace {

// Standard output and standard error.
constexpr int kLogs[] = {STDOUT_FILENO, STDERR_FILENO};

// Set before the thread starts.
void (*on_stop)(int) = nullptr;
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

// The kernel sends SIGHUP when the terminal or its shell is gone; a shell sends it to its jobs when
// its terminal has closed; other programs send it to request a new log.
bool asks_for_new_log(const siginfo_t& hangup) {
  return hangup.si_code != SI_KERNEL && !(had_terminal && !has_terminal());
}

[[noreturn]] void take_signals(const sigset_t& signals) {
  for (;;) {
    siginfo_t info;
    const int number = ::sigwaitinfo(&signals, &info);
    if (number < 0) continue;
    if (number == SIGHUP && asks_for_new_log(info))
      reopen_logs();
    else
      on_stop(number);
  }
}

}  // namespace

void handle_stop_signals(void (*handler)(int)) {
  on_stop = handler;
  had_terminal = has_terminal();
  remember_logs();
  // A shell starts background jobs with these ignored; sigwaitinfo() gets no ignored signal.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(take_signals, signals).detach();
}

}  // namespace starling::daemon
