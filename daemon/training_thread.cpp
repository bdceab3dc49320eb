#include "daemon/training_thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace starling::daemon {
namespace {

constexpr int kNiceness = 5;

}  // namespace

TrainingThread::TrainingThread(std::unique_ptr<optim::Trainer> trainer)
    : trainer_(std::move(trainer)), thread_([this] { run(); }) {}

TrainingThread::~TrainingThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  job_came_.notify_one();
  thread_.join();
}

void TrainingThread::submit(optim::Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  job_came_.notify_one();
}

std::vector<optim::Done> TrainingThread::take_done() {
  wake_.clear();
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void TrainingThread::want_model() {
  {
    const std::lock_guard lock(mutex_);
    model_wanted_ = true;
  }
  job_came_.notify_one();
}

std::optional<std::vector<double>> TrainingThread::take_model() {
  const std::lock_guard lock(mutex_);
  return std::exchange(model_, std::nullopt);
}

void TrainingThread::run() {
  // Niceness is a thread's own on Linux; without the right to change it, nothing is lost.
  [[maybe_unused]] const int result =
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceness);
  std::unique_lock lock(mutex_);
  while (true) {
    job_came_.wait(lock, [this] { return stopping_ || model_wanted_ || !jobs_.empty(); });
    if (stopping_) return;
    if (std::exchange(model_wanted_, false)) {
      model_ = trainer_->parameters();
      wake_.signal();
      continue;
    }
    optim::Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    optim::Done done = trainer_->run(job);
    job = {};  // lets go of the neighbours' vectors before anybody waits for them
    lock.lock();
    done_.push_back(std::move(done));
    wake_.signal();
  }
}

}  // namespace starling::daemon
