// TrainerProcess: the user's training command, which the daemon starts, and restarts when it fails.
// The daemon never ends a process that it did not start.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/process/child_process.h"
#include "daemon/process/overheard.h"

namespace starling::daemon {

// What the port knows of the trainers so far.
struct TrainerPast {
  bool has_worked = false;      // one has taken steps, or is attached now
  bool has_attached = false;    // one has been accepted
  bool is_silent = false;       // one is there, and takes no step
  std::uint64_t exchanges = 0;  // in which they took part, all together
  std::string refusal = {};     // of one that was refused since this was asked last; empty: none
};

// How the command ended.
struct TrainerEnd {
  int code = 0;              // its exit code, or 128 + the signal
  std::string words = {};    // the last line of its standard error; empty: none
  std::string refusal = {};  // by the daemon; empty: it was not refused
  bool has_attached = false;
  bool has_worked = false;  // a trainer has taken steps, in this life of the command or before
};

// Ends of the command in a row.
class TrainerFailures {
 public:
  // Returns whether one more would be the same again.
  bool add(TrainerEnd end);
  // "ended 2 times in a row with exit code 1 and never attached: NameError: …". REQUIRES add().
  std::string text() const;

 private:
  void count_without_steps(const TrainerEnd& end);

  TrainerEnd last_;
  int same_ = 0;        // with that exit code and those words
  int alike_ = 0;       // before a trainer worked, with that code
  int refused_ = 0;     // of these, for that reason
  int unattached_ = 0;  // of these, before it attached and with those words
};

class TrainerProcess {
 public:
  // Runs `command` by /bin/sh, with `environment` ("NAME=VALUE") over that of this process, and its
  // output to this process's standard error. After exit code 0 it has done its work; after any
  // other end it is restarted, a little later each time that it did not work for longer than that,
  // unless it has failed in the same way several times in a row, or in a way that no restart cures.
  // `on_end` is called in a thread of its own when it is not restarted; `past` is asked there, too.
  // The destructor waits for the command to end by itself; if that takes too long, or it is
  // silent, it asks the command and its children to end, and finally kills them. Those that
  // outlast that, because the system waits for a device, are named in the log and left behind.
  TrainerProcess(std::string command, const std::vector<std::string>& environment,
                 std::function<TrainerPast()> past, std::function<void()> on_end);

  // The command has ended with exit code 0. Any thread.
  bool has_succeeded() const { return has_succeeded_; }
  // Why it is not restarted; empty: it has not failed for good. Any thread.
  std::string failure() const;
  // "trainer.command "…" ended for the 3rd time, with exit code 1: NameError: …; it is started
  // again in 2 s"; empty while it runs. Any thread.
  std::string pause() const;
  // How it ended last, where each of its lives has failed: the present one has gone on for no
  // longer than the longest but the first, which may be chance. Else empty. `exchanges`:
  // TrainerPast. Any thread.
  std::string crashes(std::uint64_t exchanges) const;

 private:
  void run(const std::stop_token& stop);
  void end(ChildProcess& child) const;
  bool gives_up(int code, const TrainerPast& past);
  void tell_pause(int code, std::chrono::milliseconds pause);
  void tell(std::string& text, std::string words);

  std::string command_;
  std::vector<std::string> arguments_;
  std::function<TrainerPast()> past_;
  std::function<void()> on_end_;
  std::atomic<bool> has_succeeded_ = false;
  Overheard errors_;
  // Only of the thread.
  TrainerFailures failures_;
  int ends_ = 0;
  std::string words_;  // the command's last, of its last end
  mutable std::mutex mutex_;
  std::string failure_, pause_, crash_;
  std::uint64_t taken_ = 0, longest_ = 0;  // exchanges at its last end; in the longest such life
  std::jthread thread_;                    // last: it uses everything above
};

}  // namespace starling::daemon
