#include "daemon/attach/trainer_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "daemon/process/log.h"
#include "daemon/process/other_processes.h"
#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kCommandLookEvery{50};
// Before a command that failed is started again; doubled each time.
constexpr milliseconds kFirstPause{500}, kLongestPause{30'000};
// For a trainer to save its work after the run is over.
constexpr milliseconds kFarewell{5'000};
constexpr milliseconds kGroupPatience{2'000};
// The same of a silent one. Longer: its node leaves later.
constexpr milliseconds kSilentPatience{600};
// Failures alike in a row after which no better one is expected. More: a mistake is reported later.
// Fewer: one that passes, such as a device in use, ends the node.
constexpr int kFailuresLimit = 5, kRefusalsLimit = 2, kUnattachedLimit = 2;
// By which the shell says that it cannot run the command.
constexpr int kNotExecutable = 126, kNotFound = 127;
// The shell leads a process group, and ends all of it on request, or when the daemon is gone.
// What Python prints is in the log at once.
constexpr char kScript[] = R"(export PYTHONUNBUFFERED="${PYTHONUNBUFFERED-1}"
trap 'trap "" TERM; kill -TERM 0' TERM; eval "$1" & wait $!)";

std::string end_of(int code) {
  const bool is_killed = code == 128 + SIGKILL;
  return describe_exit(code) + (is_killed ? " (by kill, or for want of memory)" : "");
}

std::string ordinal(int number) {
  const int tens = number % 100 / 10, ones = number % 10;
  constexpr std::array kEndings = {"th", "st", "nd", "rd"};
  const bool is_regular = tens == 1 || ones > 3;
  return fmt::format("{}{}", number, kEndings[static_cast<std::size_t>(is_regular ? 0 : ones)]);
}

std::string with_words(const std::string& words) {
  return words.empty() ? "" : ": " + words;
}

// The program is not there, or Python cannot read it: a restart finds the same.
bool is_incurable(const TrainerEnd& end) {
  if (end.has_attached || end.has_worked) return false;
  if (end.code == kNotExecutable || end.code == kNotFound) return true;
  constexpr std::array kErrors = {
      "ModuleNotFoundError:", "ImportError:", "SyntaxError:", "IndentationError:", "TabError:"};
  return std::ranges::any_of(kErrors, [&](auto error) { return end.words.starts_with(error); });
}

// False when the trainer must end.
bool pauses(const std::stop_token& stop, milliseconds time) {
  const auto until = steady_clock::now() + time;
  while (!stop.stop_requested() && steady_clock::now() < until)
    std::this_thread::sleep_for(kCommandLookEvery);
  return !stop.stop_requested();
}

// Sends the signal to all processes of the group. Returns those that have not ended in time.
std::vector<OtherProcess> signal_group(ChildProcess& leader, int signal, milliseconds patience) {
  ::kill(-leader.pid(), signal);
  const auto until = steady_clock::now() + patience;
  while (true) {
    (void)leader.running();  // takes note of its end
    std::vector<OtherProcess> left = living_members(leader.pid());
    if (left.empty() || steady_clock::now() >= until) return left;
    std::this_thread::sleep_for(kCommandLookEvery);
  }
}

}  // namespace

// What ends after steps may end by chance, as by a signal: only an exit with the same words counts.
bool TrainerFailures::add(TrainerEnd end) {
  const bool is_same = end.code == last_.code && end.words == last_.words;
  const bool is_exit = end.code <= 128 && !end.words.empty();
  same_ = !is_exit ? 0 : is_same ? same_ + 1 : 1;
  if (end.has_worked)
    alike_ = refused_ = unattached_ = 0;
  else
    count_without_steps(end);
  last_ = std::move(end);
  return same_ >= kFailuresLimit || alike_ >= kFailuresLimit || refused_ >= kRefusalsLimit ||
         unattached_ >= kUnattachedLimit || is_incurable(last_);
}

void TrainerFailures::count_without_steps(const TrainerEnd& end) {
  alike_ = end.code == last_.code ? alike_ + 1 : 1;
  const bool is_again = alike_ > 1 && end.refusal == last_.refusal;
  const bool is_same_word = alike_ > 1 && end.words == last_.words;
  refused_ = end.refusal.empty() ? 0 : is_again ? refused_ + 1 : 1;
  unattached_ = end.has_attached || end.words.empty() ? 0 : is_same_word ? unattached_ + 1 : 1;
}

std::string TrainerFailures::text() const {
  const int times = std::max(alike_, same_);
  return fmt::format("ended{} with {}{}{}{}",
                     times > 1 ? fmt::format(" {} times in a row", times) : "", end_of(last_.code),
                     last_.has_worked     ? ""
                     : last_.has_attached ? " and without a step"
                                          : " and never attached",
                     with_words(last_.words),
                     last_.refusal.empty() ? "" : "; the daemon refused it: " + last_.refusal);
}

TrainerProcess::TrainerProcess(std::string command, const std::vector<std::string>& environment,
                               std::function<TrainerPast()> past, std::function<void()> on_end)
    : command_(std::move(command)),
      arguments_{"/usr/bin/env"},
      past_(std::move(past)),
      on_end_(std::move(on_end)) {
  arguments_.insert(arguments_.end(), environment.begin(), environment.end());
  arguments_.insert(arguments_.end(), {"/bin/sh", "-c", kScript, "sh", command_});
  thread_ = quiet_thread([this](const std::stop_token& stop) { run(stop); });
}

std::string TrainerProcess::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::string TrainerProcess::pause() const {
  const std::lock_guard lock(mutex_);
  return pause_;
}

std::string TrainerProcess::crashes(std::uint64_t exchanges) const {
  const std::lock_guard lock(mutex_);
  return exchanges - taken_ > longest_ ? std::string() : crash_;
}

void TrainerProcess::tell(std::string& text, std::string words) {
  const std::lock_guard lock(mutex_);
  text = std::move(words);
}

bool TrainerProcess::gives_up(int code, const TrainerPast& past) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ > 1) longest_ = std::max(longest_, past.exchanges - taken_);
    taken_ = past.exchanges;
  }
  if (!failures_.add({code, words_, past.refusal, past.has_attached, past.has_worked}))
    return false;
  tell(failure_, fmt::format("trainer.command \"{}\" {}; it is not started again", command_,
                             failures_.text()));
  return true;
}

void TrainerProcess::tell_pause(int code, milliseconds pause) {
  const std::string which =
      ends_ > 1 ? fmt::format(" for the {} time,", ordinal(ends_)) : std::string();
  const std::string crash = fmt::format("trainer.command \"{}\" ended{} with {}{}", command_, which,
                                        end_of(code), with_words(words_));
  tell(crash_, crash);
  tell(pause_, fmt::format("{}; it is started again in {} s", crash,
                           static_cast<double>(pause.count()) / 1000));
  log::warning("{}", this->pause());
}

void TrainerProcess::end(ChildProcess& child) const {
  const bool is_silent = past_().is_silent;
  if (!is_silent && child.wait(kFarewell)) return;
  const milliseconds patience = is_silent ? kSilentPatience : kGroupPatience;
  if (signal_group(child, SIGTERM, patience).empty()) return;
  for (const OtherProcess& left : signal_group(child, SIGKILL, patience))
    log::warning(
        "process {} ({}) of trainer.command does not end, not even by SIGKILL (state {}: {}); it "
        "is left behind",
        left.process, left.name, left.state,
        left.state == 'D' ? "the system waits for a device or a disk" : "see ps");
}

void TrainerProcess::run(const std::stop_token& stop) {
  milliseconds pause = kFirstPause;
  if (const auto heard = errors_.open(); !heard)
    log::warning("trainer.command: what it says last will not be known: {}", heard.error().text);
  while (!stop.stop_requested()) {
    const auto begun = steady_clock::now();
    auto child = ChildProcess::start(arguments_, "", errors_.descriptor());
    if (!child) {
      log::warning("trainer.command: {}", child.error().text);
    } else {
      while (!stop.stop_requested() && child->running())
        std::this_thread::sleep_for(kCommandLookEvery);
      if (stop.stop_requested()) return end(*child);
      const int code = child->exit_code().value_or(0);
      words_ = errors_.take_last_line();
      ++ends_;
      if (code == 0) has_succeeded_ = true;
      const TrainerPast past = past_();
      const bool has_worked_on = past.exchanges > taken_ && steady_clock::now() - begun > pause;
      if (code == 0 || gives_up(code, past)) return on_end_();
      if (has_worked_on) pause = kFirstPause;
      tell_pause(code, pause);
    }
    if (!pauses(stop, pause)) return;
    tell(pause_, "");
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace starling::daemon
