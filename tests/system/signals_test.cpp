// `starling up` ends when it is told to, whatever it and its nodes are doing, and leaves nothing.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "tests/daemon/trainer_client.h"
#include "tests/system/harness.h"

using namespace starling;
using namespace std::chrono_literals;
using daemon::ChildProcess;
using testing::eventually;

namespace {

// What `up` promises. The machine's own time to end processes comes on top.
constexpr std::chrono::seconds kPromise{5}, kMachine{10};

// One `starling up` whose temporary files have a folder of their own.
struct Up {
  explicit Up(std::vector<std::string> more) {
    const auto log = std::filesystem::path(testing::temporary_file("up.log", ""));
    temporary = log.parent_path() / "tmp-of-up";
    std::filesystem::remove_all(temporary);
    std::filesystem::create_directory(temporary);
    std::vector<std::string> arguments = {
        testing::program(), "up", "-n", "4", "--model.kind=softmax", "--listen.http=127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ::setenv("TMPDIR", temporary.c_str(), 1);
    auto started = ChildProcess::start(arguments, log);
    ::unsetenv("TMPDIR");
    REQUIRE(started.has_value());
    process.emplace(std::move(*started));
  }

  std::vector<int> children() const {
    const std::string pid = std::to_string(process->pid());
    std::ifstream stream("/proc/" + pid + "/task/" + pid + "/children");
    return {std::istream_iterator<int>(stream), {}};
  }
  std::string text() const {
    std::ifstream stream(process->log_path());
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool trains() const {
    return eventually([&] { return text().find("  loss ") != std::string::npos; });
  }
  void ends_in_order() {
    CHECK(process->wait(kPromise + kMachine));
    CAPTURE(text());
    CHECK(children().empty());
    CHECK(std::filesystem::is_empty(temporary));
  }

  std::filesystem::path temporary;
  std::optional<ChildProcess> process;
};

}  // namespace

TEST_CASE("A signal ends starling up while its nodes train") {
  for (const int number : {SIGTERM, SIGINT}) {
    CAPTURE(number);
    Up up({"--data.samples=2000"});
    REQUIRE(up.trains());
    up.process->signal(number);
    up.ends_in_order();
  }
}

TEST_CASE("Ctrl-C ends the run of starling up with one model") {
  Up up({"--data.samples=2000", "--stop.rounds=1000000"});
  REQUIRE(up.trains());
  up.process->signal(SIGINT);
  up.ends_in_order();
  CAPTURE(up.text());
  CHECK(up.text().find("All end with one model, ") != std::string::npos);
  CHECK(up.text().find("stopped by hand") != std::string::npos);
}

TEST_CASE("A signal ends starling up while it loads data or starts nodes") {
  for (const int number : {SIGTERM, SIGINT}) {
    CAPTURE(number);
    Up at_once({"--data.samples=60000"});
    at_once.process->signal(number);
    at_once.ends_in_order();
    CHECK(at_once.process->exit_code() == 0);
    Up starting({"--data.samples=60000"});
    REQUIRE(eventually([&] { return !starting.children().empty(); }));
    starting.process->signal(number);
    starting.ends_in_order();
  }
}

TEST_CASE("A hangup that a person sends makes starling up begin its output again") {
  Up up({"--data.samples=2000"});
  REQUIRE(up.trains());
  std::filesystem::rename(up.process->log_path(), up.process->log_path() + ".1");
  up.process->signal(SIGHUP);
  CHECK(up.trains());
  CHECK(up.children().size() == 4);
  up.process->signal(SIGTERM);
  up.ends_in_order();
}

TEST_CASE("A signal ends starling up whose nodes are stopped") {
  Up up({"--data.samples=2000"});
  REQUIRE(up.trains());
  for (const int child : up.children()) ::kill(child, SIGSTOP);
  up.process->signal(SIGTERM);
  up.ends_in_order();
}

TEST_CASE("The log of a node that failed is kept and named") {
  Up up({"--data.samples=2000"});
  REQUIRE(up.trains());
  const std::vector<int> children = up.children();
  REQUIRE(children.size() == 4);
  ::kill(children[2], SIGKILL);
  REQUIRE(eventually([&] { return up.text().find("3/4 run") != std::string::npos; }));
  up.process->signal(SIGTERM);
  REQUIRE(up.process->wait(kPromise + kMachine));
  const std::string text = up.text();
  CAPTURE(text);
  const std::size_t at = text.find("node-2 ended with signal 9: ");
  REQUIRE(at != std::string::npos);
  const std::size_t path = text.find("(log: ", at) + 6;
  CHECK(std::filesystem::exists(text.substr(path, text.find(')', path) - path)));
  std::string kept;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(up.temporary))
    kept += entry.path().filename().string() + "\n";
  CAPTURE(kept);
  CHECK(std::ranges::count(kept, '\n') == 2);
}

TEST_CASE("A node that cannot start leaves its reason and no folder") {
  const std::string file = testing::temporary_file("node-0", "where a folder is to be");
  const std::string folder = std::filesystem::path(file).parent_path();
  Up up({"--data.samples=2000", "--node.data-dir=" + folder});
  REQUIRE(up.process->wait(60s));
  CHECK(up.process->exit_code() == 1);
  CAPTURE(up.text());
  CHECK(up.text().find("node-0 did not start: starling run: node.data-dir = ") !=
        std::string::npos);
  up.ends_in_order();
}

// The command is stopped, as SIGTERM finds a process that waits for a device; the steps are those
// of a trainer in this process.
TEST_CASE("A node leaves soon beside a trainer that stands still") {
  const std::string beside = testing::temporary_file("still", "");
  const std::string socket = beside + ".sock";
  testing::Daemon node(
      "node-0", {"--model.precision=f64", "--model.kind=external", "--optim.algorithm=dpsgd",
                 "--trainer.socket=" + socket, "--trainer.command=exec sh -c 'kill -STOP $$'"});
  std::atomic<bool> stands_still = false;
  auto trainer = std::async(std::launch::async, [&] {
    testing::TrainerClient client(socket, {});
    client.run([&](const nlohmann::json&) -> nlohmann::json {
      while (stands_still && !client.receive().is_null()) continue;
      return {{"loss", 1.0}};
    });
  });
  REQUIRE(eventually([&] { return node.round() > 20; }));
  stands_still = true;
  CHECK(node.post("/v1/leave", "") == 202);
  // Not as long as a trainer has that steps: to finish its step, and to save its work.
  CHECK(node.process().wait(2 * kPromise));
  CHECK(node.process().exit_code() == 0);
  trainer.get();
}
