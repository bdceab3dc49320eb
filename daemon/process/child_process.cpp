#include "daemon/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "daemon/process/descriptors.h"

namespace starling::daemon {
namespace {

// Interval of calls of `gives_up`.
constexpr std::chrono::milliseconds kExitPollEvery{50};

struct ChildFiles {
  int ready;  // below 0: none
  int output, errors;
};

// In the child, between fork and exec: only async-signal-safe calls.
// The child blocks exactly `kept_back`, whatever the thread that starts it has blocked.
[[noreturn]] void become(char* const* arguments, const ChildFiles& files,
                         const sigset_t& kept_back) {
  ::sigprocmask(SIG_SETMASK, &kept_back, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  restore_descriptor_limit();
  ::setpgid(0, 0);  // Ctrl-C is for the parent, which signals its children
  ::dup2(files.output, STDOUT_FILENO);
  ::dup2(files.errors, STDERR_FILENO);
  if (files.ready == ChildProcess::kReadyDescriptor)
    ::fcntl(files.ready, F_SETFD, 0);
  else if (files.ready >= 0)
    ::dup2(files.ready, ChildProcess::kReadyDescriptor);
  ::closefrom(ChildProcess::kReadyDescriptor + (files.ready < 0 ? 0 : 1));
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

std::string describe_exit(int code) {
  return code > 128 ? fmt::format("signal {}", code - 128) : fmt::format("exit code {}", code);
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                         const std::string& log_path, int errors) {
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const OpenFile log(
      log_path.empty() ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
                       : ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  int ends[2];
  if (!log || ::pipe2(ends, O_CLOEXEC) != 0)
    return fail("cannot start {}: {}", arguments[0], std::strerror(errno));
  OpenFile ready(ends[0]);
  const OpenFile of_child(ends[1]);
  // A child that gets a stop signal before exec handles it right after.
  sigset_t stops, before;
  sigemptyset(&stops);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stops, number);
  ::sigprocmask(SIG_BLOCK, &stops, &before);
  const pid_t pid = ::fork();
  const int output = log.number();
  if (pid == 0)
    become(raw.data(),
           {log_path.empty() ? -1 : of_child.number(), output, errors < 0 ? output : errors},
           stops);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail("cannot start {}: {}", arguments[0], std::strerror(errno));
  return ChildProcess(pid, std::move(ready), log_path);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ready_(std::move(other.ready_)),
      log_path_(std::move(other.log_path_)),
      exit_code_(other.exit_code_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || !running()) return;
  signal(SIGKILL);
  wait(std::chrono::seconds(10));
}

std::optional<std::string> ChildProcess::ready(std::chrono::milliseconds patience,
                                               const std::function<bool()>& gives_up) {
  std::string line;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (line.find('\n') == std::string::npos) {
    if (std::chrono::steady_clock::now() >= until || (gives_up && gives_up())) return std::nullopt;
    pollfd item{ready_.number(), POLLIN, 0};
    if (::poll(&item, 1, static_cast<int>(kExitPollEvery.count())) <= 0) continue;
    char bytes[512];
    const ssize_t count = ::read(ready_.number(), bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    line.append(bytes, static_cast<std::size_t>(count));
  }
  return line.substr(0, line.find('\n'));
}

bool ChildProcess::running() {
  if (exit_code_ || pid_ < 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

void ChildProcess::signal(int number) const {
  if (!exit_code_ && pid_ > 0) ::kill(pid_, number);
}

bool ChildProcess::wait(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (running()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace starling::daemon
