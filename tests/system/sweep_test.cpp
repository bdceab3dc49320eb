// starling sweep: runs of its own program, kept one by one.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/system/harness.h"

using namespace starling;
using daemon::ChildProcess;
using nlohmann::json;
using testing::run;

namespace {

constexpr char kGrid[] = "optim.learning-rate=.01,.02,.05,.1 exchange.codec=native,i4,i8";

std::string folder_of(const char* name) {
  const std::filesystem::path file = testing::temporary_file("sweep.txt", "");
  const std::filesystem::path folder = file.parent_path() / name;
  std::filesystem::remove_all(folder);
  return folder.string();
}

std::ptrdiff_t kept_in(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return 0;
  return std::ranges::count_if(std::filesystem::directory_iterator(folder), [](const auto& entry) {
    return entry.path().extension() == ".json";
  });
}

std::string sweep_of(const std::string& folder, const std::string& more) {
  return std::string("sweep ") + kGrid + " --simulate -n 3 -c " + STARLING_ROOT +
         "/configs/reference.ini --jobs 1 --output " + folder + " " + more;
}

}  // namespace

TEST_CASE("A sweep that was interrupted at the fifth of twelve runs does the other seven") {
  const std::string folder = folder_of("interrupted");
  // Each run takes a while, so that the signal comes amid one.
  const std::string command = sweep_of(folder, "--stop.rounds=400");
  std::vector<std::string> words{testing::program()};
  std::istringstream stream(command);
  std::copy(std::istream_iterator<std::string>(stream), {}, std::back_inserter(words));
  {
    auto child = ChildProcess::start(words, testing::temporary_file("sweep.log", ""));
    REQUIRE(child.has_value());
    REQUIRE(testing::eventually([&] { return kept_in(folder) >= 5; }));
    child->signal(SIGINT);
    REQUIRE(child->wait(std::chrono::seconds(60)));
    CHECK(child->exit_code() == 1);
  }
  const auto before = kept_in(folder);
  CHECK(before < 12);
  const testing::Outcome again = run(command);
  CAPTURE(again.err);
  CHECK(again.exit_code == 0);
  CHECK(again.out.find(fmt::format("12 runs, {} of them done before", before)) == 0);
  CHECK(kept_in(folder) == 12);
  CHECK(std::filesystem::exists(folder + "/curves.html"));
  // Other settings of the environment are other runs.
  ::setenv("STARLING_OPTIM_BATCH_SIZE", "2", 1);
  const testing::Outcome other = run(command);
  ::unsetenv("STARLING_OPTIM_BATCH_SIZE");
  CHECK(other.out.find("12 runs, 1 at a time") == 0);
  CHECK(kept_in(folder) == 24);
  const testing::Outcome best = run("config -c " + folder + "/best.ini");
  CHECK(best.exit_code == 0);
}

TEST_CASE("A combination that is not legal is said before the first run") {
  const std::string folder = folder_of("illegal");
  const testing::Outcome outcome =
      run("sweep optim.algorithm=dpsgd,ed exchange.codec=i4,top:5% --simulate -n 2 -c "
          "configs/reference.ini --stop.rounds=3 --output " +
          folder);
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("Left out: optim.algorithm=dpsgd exchange.codec=top:5%: ") == 0);
  CHECK(kept_in(folder) == 3);
  const testing::Outcome wrong =
      run("sweep exchange.codec=i4,i5 --simulate -n 2 --stop.rounds=3 --output " + folder);
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.err.find("exchange.codec=i5 is in no run: ") != std::string::npos);
  CHECK(kept_in(folder) == 3);
  CHECK(run("sweep exchange.codec=i4 -n 2 --output " + folder).err.find("stop.rounds") !=
        std::string::npos);
}

TEST_CASE("A sweep of processes compares them and says what failed") {
  const std::string folder = folder_of("processes");
  const testing::Outcome outcome =
      run("sweep exchange.codec=native,i4 -n 2 -c configs/reference.ini --stop.rounds=20 --json "
          "--output " +
          folder);
  CAPTURE(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const json document = json::parse(outcome.out);
  CHECK(document["runs_done"] == 2);
  CHECK(document["rows"][0]["bytes"] > 0);
  CHECK(document["rows"][0]["loss_at_time"]["mean"] > 0);
  const testing::Outcome failed =
      run("sweep data.path=none-a,none-b --data.source=csv --data.target=y --simulate -n 2 "
          "--stop.rounds=2 "
          "--output " +
          folder);
  CHECK(failed.exit_code == 1);
  CHECK(failed.out.find("none-a") != std::string::npos);
}
