#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "daemon/cli/terminal/screen.h"

using namespace starling;
using namespace starling::daemon;

namespace {

// A terminal of the system, with nobody before it.
class Terminal {
 public:
  Terminal() : outer_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(outer_ >= 0);
    REQUIRE(::grantpt(outer_) == 0);
    REQUIRE(::unlockpt(outer_) == 0);
    inner_ = ::open(::ptsname(outer_), O_RDWR | O_NOCTTY);
    REQUIRE(inner_ >= 0);
    resize(60, 20);
  }
  ~Terminal() {
    ::close(inner_);
    ::close(outer_);
  }
  int descriptor() const { return inner_; }
  void resize(unsigned short columns, unsigned short rows) {
    const winsize size{rows, columns, 0, 0};
    REQUIRE(::ioctl(outer_, TIOCSWINSZ, &size) == 0);
  }
  // What was written since the last call. A terminal ends lines with a return and a line feed.
  std::string written() {
    std::string text;
    char bytes[4096];
    for (pollfd item{outer_, POLLIN, 0}; ::poll(&item, 1, 0) > 0 && (item.revents & POLLIN);) {
      const ssize_t count = ::read(outer_, bytes, sizeof(bytes));
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int outer_, inner_ = -1;
};

// Sets a variable of the environment for its life.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, was_set_ = true;
    ::setenv(name, value, 1);
  }
  ~Variable() { was_set_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

}  // namespace

TEST_CASE("A frame takes the place of the one before and shows the cursor again") {
  const Variable term("TERM", "xterm");
  Terminal terminal;
  Screen screen(terminal.descriptor());
  REQUIRE(screen.is_live());
  CHECK(screen.size().columns == 60);
  CHECK(screen.size().rows == 20);
  screen.draw({"one", "two"});
  CHECK(terminal.written() == "\x1b[?25lone\x1b[K\r\ntwo\x1b[K\r\n\x1b[J\x1b[?25h");
  screen.draw({"three"});
  CHECK(terminal.written() == "\x1b[?25l\r\x1b[2Athree\x1b[K\r\n\x1b[J\x1b[?25h");
  screen.clear();
  CHECK(terminal.written() == "\r\x1b[1A\x1b[J");
  screen.clear();
  CHECK(terminal.written().empty());
  screen.draw({"four"});
  CHECK(terminal.written() == "\x1b[?25lfour\x1b[K\r\n\x1b[J\x1b[?25h");
}

TEST_CASE("The last character of a full line is not erased") {
  const Variable term("TERM", "xterm");
  Terminal terminal;
  Screen screen(terminal.descriptor());
  screen.draw({std::string(60, 'x')});
  CHECK(terminal.written() == "\x1b[?25l" + std::string(60, 'x') + "\r\n\x1b[J\x1b[?25h");
}

TEST_CASE("A terminal that became narrower has more rows of the frame before") {
  const Variable term("TERM", "xterm");
  Terminal terminal;
  Screen screen(terminal.descriptor());
  screen.draw({std::string(50, 'x'), "", "short"});
  terminal.written();
  terminal.resize(20, 20);
  screen.draw({"y"});
  CHECK(terminal.written().starts_with("\x1b[?25l\r\x1b[5Ay"));
}

TEST_CASE("Nothing is drawn where lines cannot be drawn over") {
  Terminal terminal;
  {
    const Variable term("TERM", "dumb");
    Screen screen(terminal.descriptor());
    CHECK_FALSE(screen.is_live());
    screen.draw({"one"});
    screen.clear();
    CHECK(terminal.written().empty());
  }
  const Variable term("TERM", "xterm");
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  CHECK_FALSE(Screen(pipe[1]).is_live());
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("Colours and characters are those that the user asks for") {
  const Variable term("TERM", "xterm");
  Terminal terminal;
  {
    const Variable none("NO_COLOR", "1");
    CHECK_FALSE(Screen(terminal.descriptor()).style().has_color);
  }
  const Variable color("NO_COLOR", "");
  CHECK(Screen(terminal.descriptor()).style().has_color);
  {
    const Variable all("LC_ALL", "de_DE.UTF-8");
    CHECK(has_utf8_locale());
  }
  {
    const Variable all("LC_ALL", "");
    const Variable type("LC_CTYPE", "C");
    const Variable language("LANG", "C.utf8");
    CHECK_FALSE(has_utf8_locale());
  }
  const Variable all("LC_ALL", "C");
  CHECK_FALSE(Screen(terminal.descriptor()).style().is_utf8);
}
