#include "daemon/process/training_thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

constexpr int kNiceness = 5;

// Whether the job does what most rounds do, and takes about as long.
bool is_usual(const optim::Job& job) {
  return !job.adopt && !job.resume && !job.copy && !job.snapshot && !job.save && !job.evaluate &&
         !job.shard && !job.foundation;
}

}  // namespace

TrainingThread::TrainingThread(std::unique_ptr<optim::Trainer> trainer, Options options)
    : trainer_(std::move(trainer)),
      options_(options),
      thread_(quiet_thread([this](const std::stop_token& stop) { run(stop); })) {}

std::vector<double> TrainingThread::finish() {
  thread_.request_stop();
  thread_.join();
  return trainer_->model();
}

void TrainingThread::submit(optim::Job job) {
  std::unique_lock lock(mutex_);
  const bool here = runs_here(job);
  jobs_.push_back(std::move(job));
  if (here) return run_next(lock);
  lock.unlock();
  job_came_.notify_one();
}

bool TrainingThread::runs_here(const optim::Job& job) const {
  const bool is_free = !is_busy_ && !model_wanted_ && jobs_.empty();
  return is_free && !options_.may_block && is_usual(job) && last_took_ && *last_took_ <= kShort;
}

std::vector<optim::Done> TrainingThread::take_done() {
  wake_.clear();
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void TrainingThread::want_model() {
  {
    const std::lock_guard lock(mutex_);
    if (!model_wanted_) model_wanted_ = std::chrono::steady_clock::now();
  }
  job_came_.notify_one();
}

std::optional<std::vector<double>> TrainingThread::take_model() {
  const std::lock_guard lock(mutex_);
  return std::exchange(model_, std::nullopt);
}

bool TrainingThread::serves_model() const {
  return model_wanted_ && (is_averaged_ || std::chrono::steady_clock::now() >=
                                               *model_wanted_ + options_.model_patience);
}

void TrainingThread::run(const std::stop_token& stop) {
  // On Linux each thread has its own niceness; a failure to set it is harmless.
  [[maybe_unused]] const int result =
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceness);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (serves_model()) {
      copy_model(lock);
    } else if (!jobs_.empty()) {
      run_next(lock);
    } else if (model_wanted_) {
      job_came_.wait_until(lock, stop, *model_wanted_ + options_.model_patience,
                           [this] { return !jobs_.empty() || serves_model(); });
    } else {
      job_came_.wait(lock, stop, [this] { return !jobs_.empty() || model_wanted_; });
    }
  }
}

// Copying a large model takes long, so the mutex is not held.
void TrainingThread::copy_model(std::unique_lock<std::mutex>& lock) {
  model_wanted_.reset();
  is_busy_ = true;
  lock.unlock();
  std::vector<double> model = trainer_->model();
  lock.lock();
  is_busy_ = false;
  model_ = std::move(model);
  wake_.signal();
}

void TrainingThread::run_next(std::unique_lock<std::mutex>& lock) {
  optim::Job job = std::move(jobs_.front());
  jobs_.pop_front();
  // Between parts and means of a masked round, the model shows this node's own data.
  const bool averages = job.absorb && !(job.between && job.mask_group);
  job.copy = model_wanted_ && averages;
  is_busy_ = true;
  lock.unlock();
  const auto begun = std::chrono::steady_clock::now();
  optim::Done done = trainer_->run(job);
  const auto took = std::chrono::steady_clock::now() - begun;
  const bool was_usual = is_usual(job);
  const bool averaged = (is_averaged_ || averages || job.adopt) && !job.local;
  const bool copied = job.copy;
  job = {};  // releases the neighbours' vectors early
  lock.lock();
  is_busy_ = false;
  if (was_usual) last_took_ = took;
  is_averaged_ = averaged;
  if (copied && !done.copy.empty()) {
    model_wanted_.reset();
    model_ = std::move(done.copy);
  }
  done_.push_back(std::move(done));
  wake_.signal();
}

}  // namespace starling::daemon
