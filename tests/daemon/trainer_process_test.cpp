#include "daemon/attach/trainer_process.h"

#include <doctest/doctest.h>

#include <future>

using namespace starling::daemon;

TEST_CASE("The fifth failure alike in a row is the last one") {
  TrainerFailures failures;
  for (int k = 0; k < 4; ++k) CHECK_FALSE(failures.add(1, ""));
  CHECK_FALSE(failures.add(2, ""));
  for (int k = 0; k < 4; ++k) CHECK_FALSE(failures.add(1, ""));
  CHECK(failures.add(1, ""));
  CHECK(failures.alike == 5);
}

TEST_CASE("The second refusal for one reason is the last one") {
  TrainerFailures failures;
  CHECK_FALSE(failures.add(1, "it adds no correction"));
  CHECK_FALSE(failures.add(1, ""));
  CHECK_FALSE(failures.add(1, "it adds no correction"));
  CHECK_FALSE(failures.add(1, "there is one"));
  CHECK(failures.add(1, "there is one"));
}

TEST_CASE("A command that is refused again says why and is not started once more") {
  std::promise<void> ended;
  const auto past = [] { return TrainerPast{.refusal = "it adds no correction"}; };
  const TrainerProcess process("exit 7", "socket", "node-0", past, [&] { ended.set_value(); });
  ended.get_future().wait();
  CHECK_FALSE(process.has_succeeded());
  CHECK(
      process.failure() ==
      "trainer.command \"exit 7\" ended 2 times in a row with exit code 7 and without a step; the "
      "daemon refused it: it adds no correction");
}

TEST_CASE("A command that failed after a trainer had worked is started again") {
  std::promise<void> ended;
  int asked = 0;
  const auto past = [&asked] {
    return TrainerPast{.has_worked = ++asked == 1, .refusal = "the run is over"};
  };
  const TrainerProcess process("exit 7", "socket", "node-0", past, [&] { ended.set_value(); });
  ended.get_future().wait();
  CHECK(asked == 3);
}
