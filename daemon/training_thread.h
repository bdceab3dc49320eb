// TrainingThread: runs jobs one after another on a thread of its own, which alone touches the
// trainer. It yields to everything else on the machine, so that it never starves the I/O thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/wake.h"
#include "optim/trainer.h"

namespace starling::daemon {

class TrainingThread {
 public:
  explicit TrainingThread(std::unique_ptr<optim::Trainer> trainer);
  // Waits for the job under way; drops those not begun.
  ~TrainingThread();

  void submit(optim::Job job);
  std::vector<optim::Done> take_done();
  // Asks for the parameters; they are there after the job under way.
  void want_model();
  std::optional<std::vector<double>> take_model();
  // Readable when take_done() or take_model() has something.
  int descriptor() const { return wake_.descriptor(); }

 private:
  void run();

  std::unique_ptr<optim::Trainer> trainer_;
  Wake wake_;
  std::mutex mutex_;
  std::condition_variable job_came_;
  std::deque<optim::Job> jobs_;
  std::vector<optim::Done> done_;
  bool model_wanted_ = false;
  std::optional<std::vector<double>> model_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
