#include "daemon/attach/trainer_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "daemon/process/child_process.h"
#include "daemon/process/log.h"
#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kCommandLookEvery{50};
// Before a command that failed is started again; doubled each time.
constexpr milliseconds kFirstPause{500}, kLongestPause{30'000};
// A command that ran for longer did not fail at its start.
constexpr milliseconds kWellFor{60'000};
// For a trainer to save its work after the run is over.
constexpr milliseconds kFarewell{5'000};
constexpr milliseconds kGroupPatience{2'000};
// Failures alike in a row after which no better one is expected. More: a mistake is reported later.
// Fewer: one that passes, such as a device in use, ends the node.
constexpr int kFailuresLimit = 5, kRefusalsLimit = 2;
// The shell leads a process group, and ends all of it on request, or when the daemon is gone.
constexpr char kScript[] = R"(trap 'trap "" TERM; kill -TERM 0' TERM; eval "$1" & wait $!)";

std::string end_of(int code) {
  if (code == 128 + SIGKILL) return "signal 9 (by kill, or for want of memory)";
  return code > 128 ? fmt::format("signal {}", code - 128) : fmt::format("exit code {}", code);
}

// False when the trainer must end.
bool pauses(const std::stop_token& stop, milliseconds time) {
  const auto until = steady_clock::now() + time;
  while (!stop.stop_requested() && steady_clock::now() < until)
    std::this_thread::sleep_for(kCommandLookEvery);
  return !stop.stop_requested();
}

void end(ChildProcess& child) {
  if (child.wait(kFarewell)) return;
  ::kill(-child.pid(), SIGTERM);
  if (!child.wait(kGroupPatience)) ::kill(-child.pid(), SIGKILL);
}

}  // namespace

bool TrainerFailures::add(int new_code, const std::string& new_refusal) {
  alike = new_code == code ? alike + 1 : 1;
  const bool is_again = alike > 1 && new_refusal == refusal;
  refused = new_refusal.empty() ? 0 : is_again ? refused + 1 : 1;
  code = new_code;
  refusal = new_refusal;
  return alike >= kFailuresLimit || refused >= kRefusalsLimit;
}

TrainerProcess::TrainerProcess(std::string command, const std::string& socket,
                               const std::string& node, std::function<TrainerPast()> past,
                               std::function<void()> on_end)
    : command_(std::move(command)),
      arguments_{"/usr/bin/env",
                 "STARLING_SOCKET=" + socket,
                 "STARLING_NODE=" + node,
                 "/bin/sh",
                 "-c",
                 kScript,
                 "sh",
                 command_},
      past_(std::move(past)),
      on_end_(std::move(on_end)),
      thread_(quiet_thread([this](const std::stop_token& stop) { run(stop); })) {}

std::string TrainerProcess::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::string TrainerProcess::pause() const {
  const std::lock_guard lock(mutex_);
  return pause_;
}

void TrainerProcess::tell(std::string& text, std::string words) {
  const std::lock_guard lock(mutex_);
  text = std::move(words);
}

bool TrainerProcess::gives_up(int code) {
  const TrainerPast past = past_();
  if (past.has_worked) {
    failures_ = {};
    return false;
  }
  if (!failures_.add(code, past.refusal)) return false;
  const std::string& refusal = failures_.refusal;
  tell(failure_,
       fmt::format("trainer.command \"{}\" ended {} times in a row with {} and without a step{}{}",
                   command_, failures_.alike, end_of(code),
                   refusal.empty() ? "" : "; the daemon refused it: ", refusal));
  return true;
}

void TrainerProcess::run(const std::stop_token& stop) {
  milliseconds pause = kFirstPause;
  while (!stop.stop_requested()) {
    const auto begun = steady_clock::now();
    auto child = ChildProcess::start(arguments_, "");
    if (!child) {
      log::warning("trainer.command: {}", child.error().text);
    } else {
      while (!stop.stop_requested() && child->running())
        std::this_thread::sleep_for(kCommandLookEvery);
      if (stop.stop_requested()) return end(*child);
      const int code = child->exit_code().value_or(0);
      if (code == 0) has_succeeded_ = true;
      if (code == 0 || gives_up(code)) return on_end_();
      if (steady_clock::now() - begun > kWellFor) pause = kFirstPause;
      tell(pause_, fmt::format("trainer.command \"{}\" ended with {}; it is started again in {} s",
                               command_, end_of(code), static_cast<double>(pause.count()) / 1000));
      log::warning("{}", this->pause());
    }
    if (!pauses(stop, pause)) return;
    tell(pause_, "");
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace starling::daemon
