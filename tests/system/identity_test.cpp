// Names and ends of real processes: who may have a name, and what a signal does when.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/lengths.h"
#include "tests/system/harness.h"

using namespace starling;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::eventually;

namespace {

const std::vector<std::string> kSmall = {"--data.samples=2000", "--model.kind=softmax",
                                         "--topology.kind=ring"};

std::vector<std::string> joining(const testing::Daemon& member) {
  std::vector<std::string> arguments = kSmall;
  arguments.push_back("--join=" + to_string(member.control()));
  return arguments;
}

bool gives_reason(const testing::Daemon& node, const std::string& hint) {
  const json status = node.get("/v1/status");
  return status.is_object() &&
         std::ranges::any_of(status["node"]["reasons"], [&](const json& reason) {
           return reason.get<std::string>().find(hint) != std::string::npos;
         });
}

// Whether the process is the program already, and the system says that of the signal: "SigBlk" that
// it waits until it is taken, "SigIgn" that it is ignored.
bool has(int pid, const std::string& what, int number) {
  std::error_code error;
  const auto program =
      std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
  if (error || program != std::filesystem::canonical(testing::program())) return false;
  std::ifstream stream("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(what))
      return (std::stoull(line.substr(8), nullptr, 16) >> (number - 1) & 1) != 0;
  return false;
}

// `starling run` in a session of its own, with a terminal or without one and then with a log.
class Session {
 public:
  explicit Session(bool has_terminal, const std::string& log = "/dev/null") {
    const std::string program = testing::program();
    pid_ = has_terminal ? ::forkpty(&terminal_, nullptr, nullptr, nullptr) : ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    if (!has_terminal) {
      ::setsid();
      ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    }
    ::execl(program.c_str(), program.c_str(), "run", "--data.samples=2000",
            "--listen.control=127.0.0.1:0", "--listen.http=127.0.0.1:0", "--node.log=error",
            nullptr);
    ::_exit(127);
  }
  ~Session() {
    ::kill(pid_, SIGKILL);
    if (!is_over_) ::waitpid(pid_, nullptr, 0);
    if (terminal_ >= 0) ::close(terminal_);
  }
  int pid() const { return pid_; }
  void close_terminal() { ::close(std::exchange(terminal_, -1)); }
  // What is waited for; the exit code, or 128 and the signal.
  int end() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    is_over_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  bool is_over_ = false;
};

}  // namespace

TEST_CASE("A second node under a running node's name ends and changes nothing") {
  testing::Daemon seed("seed", kSmall), first("first", joining(seed));
  REQUIRE(eventually([&] { return seed.members("alive") == 2 && first.round() > 0; }));
  for (const testing::Daemon* asked : {&seed, &first}) {
    const testing::Outcome second = testing::run(
        "run --node.name=first --cluster.preset=local --data.samples=2000 --model.kind=softmax "
        "--topology.kind=ring --listen.control=127.0.0.1:0 "
        "--listen.http=127.0.0.1:0 --node.log=error --join " +
        to_string(asked->control()));
    CAPTURE(second.err);
    CHECK(second.exit_code == 1);
    CHECK(second.error_lines() == 1);
    CHECK(second.err.find(to_string(first.control())) != std::string::npos);
    CHECK(gives_reason(first, "runs under this node's name"));
  }
  CHECK(seed.members("alive") == 2);
  CHECK(first.members("alive") == 2);
  const std::uint64_t round = first.round();
  CHECK(eventually([&] { return first.round() > round + 5; }));
  if (test::tries_full()) CHECK(eventually([&] { return !gives_reason(first, "name"); }));
}

TEST_CASE("A node leaves as with SIGTERM when its terminal closes") {
  Session node(true);
  REQUIRE(eventually([&] { return has(node.pid(), "SigBlk", SIGHUP); }));
  node.close_terminal();
  CHECK(node.end() == 0);
}

TEST_CASE("A hangup that a person sends lets a node with a terminal run on") {
  Session node(true);
  REQUIRE(eventually([&] { return has(node.pid(), "SigBlk", SIGHUP); }));
  ::kill(node.pid(), SIGHUP);
  REQUIRE(eventually([&] { return !has(node.pid(), "ShdPnd", SIGHUP); }));
  CHECK(::waitpid(node.pid(), nullptr, WNOHANG) == 0);
  ::kill(node.pid(), SIGTERM);
  CHECK(node.end() == 0);
}

TEST_CASE("A hangup makes a service begin its log again under its name") {
  const std::string log = testing::temporary_file("service.log", "");
  Session node(false, log);
  REQUIRE(eventually([&] { return has(node.pid(), "SigBlk", SIGHUP); }));
  std::filesystem::rename(log, log + ".1");
  ::kill(node.pid(), SIGHUP);
  CHECK(eventually([&] { return std::filesystem::exists(log); }));
  ::kill(node.pid(), SIGTERM);
  CHECK(node.end() == 0);
}

TEST_CASE("Signals that come thousands a second disturb no node") {
  const std::vector<std::string> alone = {"--data.samples=500", "--model.kind=mlp",
                                          "--stop.rounds=1000000000"};
  testing::Daemon seed("seed", alone);
  std::vector<std::string> more = alone;
  more.push_back("--join=" + to_string(seed.control()));
  testing::Daemon other("other", more);
  REQUIRE(eventually([&] { return seed.members("alive") == 2 && other.round() > 0; }));
  const std::uint64_t before = other.round();
  const auto hang_up_often = [&] {
    for (int k = 0; k < 200; ++k)
      for (testing::Daemon* node : {&seed, &other}) node->process().signal(SIGHUP);
    return other.round() >= before + test::full_or(10'000, 2'000);
  };
  CHECK(eventually(hang_up_often));
  for (testing::Daemon* node : {&other, &seed}) {
    CHECK(node->process().running());
    node->process().signal(SIGTERM);
    REQUIRE(node->process().wait(60s));
    CHECK(node->process().exit_code() == 0);
  }
}

TEST_CASE("A node that is told to stop while it starts ends with 0") {
  for (const int number : {SIGTERM, SIGINT}) {
    auto process = daemon::ChildProcess::start(
        {testing::program(), "run", "--data.samples=60000", "--model.kind=mlp",
         "--listen.control=127.0.0.1:0", "--listen.http=127.0.0.1:0"},
        testing::temporary_file("early.log", ""));
    REQUIRE(process.has_value());
    REQUIRE(eventually([&] { return has(process->pid(), "SigBlk", number); }));
    process->signal(number);
    REQUIRE(process->wait(60s));
    CHECK(process->exit_code() == 0);
  }
}
