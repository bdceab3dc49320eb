// The program on a terminal: what it draws, and how it leaves the terminal.
#include <doctest/doctest.h>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/system/harness.h"

using namespace starling;

namespace {

constexpr std::string_view kHide = "\x1b[?25l", kShow = "\x1b[?25h";

// A program behind a terminal of 60 columns and 20 rows.
class Session {
 public:
  explicit Session(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), testing::program());
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    winsize size{20, 60, 0, 0};
    child_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    REQUIRE(child_ >= 0);
    if (child_ != 0) return;
    ::setenv("TERM", "xterm", 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }
  ~Session() {
    if (child_ > 0) ::kill(child_, SIGKILL), ::waitpid(child_, nullptr, 0);
    ::close(terminal_);
  }

  // Reads until the text has come, or, for none, until the program ends.
  bool reads(std::string_view awaited) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < until) {
      if (!awaited.empty() && text_.find(awaited) != std::string::npos) return true;
      pollfd item{terminal_, POLLIN, 0};
      if (::poll(&item, 1, 100) <= 0) continue;
      char bytes[4096];
      const ssize_t count = ::read(terminal_, bytes, sizeof(bytes));
      if (count <= 0) return awaited.empty();
      text_.append(bytes, static_cast<std::size_t>(count));
    }
    return false;
  }
  void type(char key) { REQUIRE(::write(terminal_, &key, 1) == 1); }
  int exit_code() {
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
  const std::string& text() const { return text_; }

 private:
  pid_t child_ = -1;
  int terminal_ = -1;
  std::string text_;
};

bool shows_cursor(const std::string& text) {
  const std::size_t hidden = text.rfind(kHide), shown = text.rfind(kShow);
  return shown != std::string::npos && (hidden == std::string::npos || hidden < shown);
}

std::vector<std::string> up(const std::string& rounds) {
  return {"up",
          "-n",
          "2",
          "--data.samples=200",
          "--model.kind=softmax",
          "--listen.http=127.0.0.1:0",
          "--output=/dev/null",
          "--stop.rounds=" + rounds};
}

}  // namespace

TEST_CASE("A fleet on a terminal leaves its last frame and a summary behind") {
  Session session(up("20"));
  REQUIRE(session.reads(""));
  CAPTURE(session.text());
  CHECK(session.exit_code() == 0);
  const std::size_t frame = session.text().rfind(kHide);
  const std::size_t summary = session.text().find("Goal reached");
  REQUIRE(frame != std::string::npos);
  REQUIRE(summary != std::string::npos);
  CHECK(frame < summary);
  const std::string last = session.text().substr(frame, summary - frame);
  CHECK(last.find("100 %  20 of 20 rounds") != std::string::npos);
  CHECK(last.find("node-1  \x1b[32mfinished") != std::string::npos);
  CHECK(shows_cursor(session.text()));
}

TEST_CASE("Ctrl-C on a terminal ends a fleet with its cursor shown") {
  Session session(up("100000000"));
  REQUIRE(session.reads(", loss "));
  session.type('\x03');
  REQUIRE(session.reads(""));
  CAPTURE(session.text());
  CHECK(session.exit_code() == 0);
  CHECK(session.text().find("The run ends with one model; ") != std::string::npos);
  CHECK(shows_cursor(session.text()));
}

TEST_CASE("A watched fleet is drawn from one node until Ctrl-C") {
  testing::Daemon node("lone", {"--data.samples=200", "--model.kind=softmax", "--stop.stay=true",
                                "--stop.rounds=20"});
  for (const std::string command : {"fleet", "status"}) {
    Session session({command, "--watch", "--api", to_string(node.http())});
    REQUIRE(session.reads("lone"));
    session.type('\x03');
    REQUIRE(session.reads(""));
    CAPTURE(session.text());
    CHECK(session.exit_code() == 0);
    CHECK(shows_cursor(session.text()));
  }
}

TEST_CASE("A long simulation says how far it is") {
  Session session({"simulate", "-n", "2", "--data.samples=200", "--model.kind=softmax",
                   "--sim.seconds=1000000"});
  CHECK(session.reads(" s of virtual time, loss "));
  CHECK(session.text().find(kHide) != std::string::npos);
}
