// TrainingThread: runs jobs one after another on a thread of its own. It has the lowest priority,
// so that it never starves the I/O thread. Two wake-ups take longer than a small job: once jobs are
// shorter than kShort, the thread that submits one runs it. The trainer is used by one thread at a
// time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/process/wake.h"
#include "optim/trainer.h"

namespace starling::daemon {

class TrainingThread {
 public:
  static constexpr std::chrono::milliseconds kModelPatience{700};
  // Longer: messages wait longer while a job runs on the I/O thread; shorter: more jobs take two
  // wake-ups.
  static constexpr std::chrono::microseconds kShort{200};

  struct Options {
    // A job may wait for something outside, such as the user's trainer; then none runs in submit().
    bool may_block = true;
    std::chrono::milliseconds model_patience = kModelPatience;
  };
  // The destructor waits for the job under way and drops those not begun.
  TrainingThread(std::unique_ptr<optim::Trainer> trainer, Options options);

  // submit() and take_done() are called by one thread.
  void submit(optim::Job job);
  std::vector<optim::Done> take_done();
  // Asks for the parameters as the last averaging left them, which evaluations see; a local step
  // moves them towards this node's own data until the next averaging. They are ready after the
  // current job or the next that averages; after the patience, as they are then.
  void want_model();
  std::optional<std::vector<double>> take_model();
  // Ends the thread after the job under way, drops those not begun, and returns the parameters.
  // Nothing else may be called after it.
  std::vector<double> finish();
  // Readable when take_done() or take_model() has something.
  int descriptor() const { return wake_.descriptor(); }

 private:
  void run(const std::stop_token& stop);
  bool serves_model() const;
  void copy_model(std::unique_lock<std::mutex>& lock);
  bool runs_here(const optim::Job& job) const;  // in submit()
  void run_next(std::unique_lock<std::mutex>& lock);

  std::unique_ptr<optim::Trainer> trainer_;
  Options options_;
  Wake wake_;
  std::mutex mutex_;
  std::condition_variable_any job_came_;
  bool is_busy_ = false;                                          // the thread uses the trainer
  std::optional<std::chrono::steady_clock::duration> last_took_;  // the last usual job
  std::deque<optim::Job> jobs_;
  std::vector<optim::Done> done_;
  std::optional<std::chrono::steady_clock::time_point> model_wanted_;  // since when
  bool is_averaged_ = true;  // no local step has been taken since
  std::optional<std::vector<double>> model_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
