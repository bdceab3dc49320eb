#include "daemon/attach/trainer_process.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>

#include "daemon/process/other_processes.h"
#include "tests/daemon/temporary_folder.h"

using namespace starling::daemon;
using starling::test::TemporaryFolder;

TEST_CASE("The fifth failure alike in a row is the last one") {
  TrainerFailures failures;
  for (int k = 0; k < 4; ++k) CHECK_FALSE(failures.add({.code = 1}));
  CHECK_FALSE(failures.add({.code = 2}));
  for (int k = 0; k < 4; ++k) CHECK_FALSE(failures.add({.code = 1}));
  CHECK(failures.add({.code = 1, .has_attached = true}));
  CHECK(failures.text() == "ended 5 times in a row with exit code 1 and without a step");
}

TEST_CASE("The second refusal for one reason is the last one") {
  TrainerFailures failures;
  const auto refused = [&failures](const char* why) {
    return failures.add({.code = 1, .refusal = why});
  };
  CHECK_FALSE(refused("it adds no correction"));
  CHECK_FALSE(refused(""));
  CHECK_FALSE(refused("it adds no correction"));
  CHECK_FALSE(refused("there is one"));
  CHECK(refused("there is one"));
}

TEST_CASE("The second end before it attached with the same words is the last one") {
  TrainerFailures failures;
  const auto ended = [&failures](const char* words, bool has_attached = false) {
    return failures.add({.code = 1, .words = words, .has_attached = has_attached});
  };
  CHECK_FALSE(ended("NameError: x"));
  CHECK_FALSE(ended("FileNotFoundError: a.csv", true));
  CHECK_FALSE(ended("FileNotFoundError: a.csv"));
  CHECK(ended("FileNotFoundError: a.csv"));
  CHECK(failures.text() ==
        "ended 4 times in a row with exit code 1 and never attached: FileNotFoundError: a.csv");
}

TEST_CASE("The fifth exit with the same words is the last one even after steps") {
  TrainerFailures failures;
  const auto ended = [&failures](int code, const char* words) {
    return failures.add({.code = code, .words = words, .has_attached = true, .has_worked = true});
  };
  for (int k = 0; k < 10; ++k) CHECK_FALSE(ended(137, "UserWarning: slow"));
  for (int k = 0; k < 10; ++k) CHECK_FALSE(ended(1, ""));
  for (int k = 0; k < 4; ++k) CHECK_FALSE(ended(1, "OSError: No space left on device"));
  CHECK_FALSE(ended(1, "RuntimeError: device lost"));
  for (int k = 0; k < 4; ++k) CHECK_FALSE(ended(1, "OSError: No space left on device"));
  CHECK(ended(1, "OSError: No space left on device"));
  CHECK(failures.text() ==
        "ended 5 times in a row with exit code 1: OSError: No space left on device");
}

TEST_CASE("A command that cannot run is not started again") {
  const auto is_last = [](int code, const char* words, bool has_attached = false) {
    return TrainerFailures().add({.code = code, .words = words, .has_attached = has_attached});
  };
  CHECK(is_last(1, "ModuleNotFoundError: No module named 'x'"));
  CHECK(is_last(1, "SyntaxError: invalid syntax"));
  CHECK(is_last(127, "sh: 1: pyhton3: not found"));
  CHECK(is_last(126, "sh: 1: ./train.py: Permission denied"));
  CHECK_FALSE(is_last(1, "RuntimeError: device in use"));
  CHECK_FALSE(is_last(1, "ImportError: cannot import name 'x'", true));
}

TEST_CASE("A command that is refused again says why and is not started once more") {
  std::promise<void> ended;
  const auto past = [] { return TrainerPast{.refusal = "it adds no correction"}; };
  const TrainerProcess process("exit 7", {}, past, [&] { ended.set_value(); });
  ended.get_future().wait();
  CHECK_FALSE(process.has_succeeded());
  CHECK(process.failure() ==
        "trainer.command \"exit 7\" ended 2 times in a row with exit code 7 and never attached; "
        "the daemon refused it: it adds no correction; it is not started again");
}

TEST_CASE("A missing module ends the command at its first end with the line that says so") {
  std::promise<void> ended;
  const auto past = [] { return TrainerPast{}; };
  const TrainerProcess process("echo \"ModuleNotFoundError: No module named 'x'\" >&2; exit 1", {},
                               past, [&] { ended.set_value(); });
  ended.get_future().wait();
  CHECK(
      process.failure().ends_with("\" ended with exit code 1 and never attached: "
                                  "ModuleNotFoundError: No module named 'x'; it is not started "
                                  "again"));
}

TEST_CASE("A command that failed after a trainer had worked is started again") {
  std::promise<void> ended;
  int asked = 0;
  const auto past = [&asked] {
    return TrainerPast{.has_worked = ++asked == 1, .refusal = "the run is over"};
  };
  const TrainerProcess process("exit 7", {}, past, [&] { ended.set_value(); });
  ended.get_future().wait();
  CHECK(asked == 3);
}

TEST_CASE("A command that ignores the request to end is killed with all its processes") {
  pid_t group = 0;
  const auto past = [] { return TrainerPast{.is_silent = true}; };
  {
    const TemporaryFolder folder;
    const std::string ready = folder / "ready";
    REQUIRE(::mkfifo(ready.c_str(), 0600) == 0);
    const TrainerProcess process(
        "exec sh -c 'trap \"\" TERM; cut -d\" \" -f5 /proc/$$/stat >" + ready + "; sleep 600'", {},
        past, [] {});
    std::ifstream(ready) >> group;
  }
  REQUIRE(group > 0);
  CHECK(living_members(group).empty());
}

TEST_CASE("A command that failed in each of its lives says so until one goes on for longer") {
  std::promise<void> third;
  std::uint64_t exchanges = 0;
  const auto past = [&]() -> TrainerPast {
    exchanges += exchanges == 0 ? 500 : 40;  // the first may be chance
    if (exchanges == 580) third.set_value();
    return {.has_worked = true, .exchanges = exchanges};
  };
  const TrainerProcess process("exit 7", {}, past, [] {});
  CHECK(process.crashes(0).empty());
  third.get_future().wait();
  // The third end is counted at this moment, or will be.
  CHECK(process.crashes(580).starts_with("trainer.command \"exit 7\" ended for the "));
  CHECK(process.crashes(621).empty());
}
