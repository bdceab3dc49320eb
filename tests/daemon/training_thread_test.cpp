#include "daemon/process/training_thread.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <chrono>
#include <thread>

using namespace starling;
using namespace std::chrono_literals;

namespace {

// Its one parameter is the round, and after the local step a half more.
class Counter final : public optim::Trainer {
 public:
  optim::Workload workload() const override { return {}; }
  optim::Done run(const optim::Job& job) override {
    if (job.absorb) x_ = static_cast<double>(job.round);
    optim::Done done;
    done.round = job.round;
    if (job.copy) done.copy = {x_};
    if (job.local) x_ += 0.5;
    return done;
  }
  std::vector<double> parameters() const override { return {x_}; }
  std::vector<double> optimum() const override { return {}; }

 private:
  double x_ = 0;
};

optim::Job round_of(std::uint64_t round) {
  optim::Job job;
  job.round = round;
  job.absorb = job.local = true;
  return job;
}

// Until the thread has something; then what it has of that.
std::optional<std::vector<double>> await_model(daemon::TrainingThread& thread) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < end) {
    pollfd descriptor{.fd = thread.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&descriptor, 1, 1000);
    thread.take_done();
    if (auto model = thread.take_model()) return model;
  }
  return std::nullopt;
}

void await_round(daemon::TrainingThread& thread, std::uint64_t round) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < end) {
    pollfd descriptor{.fd = thread.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&descriptor, 1, 1000);
    for (const optim::Done& done : thread.take_done())
      if (done.round == round) return;
  }
  FAIL("the job never ended");
}

}  // namespace

TEST_CASE("A model that is asked for after a local step is that of the next averaging") {
  daemon::TrainingThread thread(std::make_unique<Counter>(), {.model_patience = 1h});
  thread.submit(round_of(1));
  await_round(thread, 1);
  thread.want_model();
  thread.submit(round_of(2));
  CHECK(await_model(thread) == std::vector<double>{2});
}

TEST_CASE("A model that no local step has moved is there at once") {
  daemon::TrainingThread thread(std::make_unique<Counter>(), {.model_patience = 1h});
  thread.want_model();
  CHECK(await_model(thread) == std::vector<double>{0});
  optim::Job last = round_of(3);
  last.local = false;
  thread.submit(last);
  await_round(thread, 3);
  thread.want_model();
  CHECK(await_model(thread) == std::vector<double>{3});
}

TEST_CASE("Who averages with nobody any more gives its model all the same") {
  daemon::TrainingThread thread(std::make_unique<Counter>(), {.model_patience = 1ms});
  thread.submit(round_of(1));
  await_round(thread, 1);
  thread.want_model();
  CHECK(await_model(thread) == std::vector<double>{1.5});
}

// Says on which thread it runs.
class Located final : public optim::Trainer {
 public:
  explicit Located(std::thread::id& at) : at_(&at) {}
  optim::Workload workload() const override { return {}; }
  optim::Done run(const optim::Job& job) override {
    *at_ = std::this_thread::get_id();
    optim::Done done;
    done.round = job.round;
    return done;
  }
  std::vector<double> parameters() const override { return {}; }
  std::vector<double> optimum() const override { return {}; }

 private:
  std::thread::id* at_;
};

TEST_CASE("Short usual jobs run where they are submitted and others on the thread") {
  for (const bool may_block : {false, true}) {
    CAPTURE(may_block);
    std::thread::id at;
    daemon::TrainingThread thread(std::make_unique<Located>(at), {.may_block = may_block});
    std::size_t here = 0, elsewhere = 0;
    for (std::uint64_t round = 1; round <= 100; ++round) {
      optim::Job job = round_of(round);
      job.evaluate = round % 10 == 0;
      thread.submit(job);
      await_round(thread, round);
      const bool is_here = at == std::this_thread::get_id();
      here += is_here;
      if (job.evaluate) elsewhere += !is_here;
    }
    CHECK(elsewhere == 10);
    CHECK((here > 0) == !may_block);
  }
}
