#include "daemon/cli/terminal/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "daemon/cli/terminal/text_width.h"

namespace starling::daemon {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool can_move(int descriptor) {
  const std::string_view terminal = variable("TERM");
  return ::isatty(descriptor) == 1 && !terminal.empty() && terminal != "dumb";
}

}  // namespace

bool has_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(variable(name));
    if (value.empty()) continue;
    std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

Screen::Screen(int descriptor) : descriptor_(descriptor), is_live_(can_move(descriptor)) {
  style_ = {.has_color = is_live_ && variable("NO_COLOR").empty(), .is_utf8 = has_utf8_locale()};
}

Screen::~Screen() {
  if (has_drawn_) write_all("\x1b[?25h");
}

Size Screen::size() const {
  Size size;
  winsize window{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &window) != 0) return size;
  if (window.ws_col > 0) size.columns = window.ws_col;
  if (window.ws_row > 0) size.rows = window.ws_row;
  return size;
}

// A terminal that became narrower has wrapped the lines of the previous frame.
std::size_t Screen::rows_above() const {
  const std::size_t columns = std::max<std::size_t>(size().columns, 1);
  std::size_t rows = 0;
  for (const std::size_t taken : drawn_) rows += taken == 0 ? 1 : (taken + columns - 1) / columns;
  return rows;
}

void Screen::write_all(const std::string& text) const {
  std::fflush(stdout);  // what was printed stands above
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Screen::draw(const Frame& frame) {
  if (!is_live_) return;
  has_drawn_ = true;
  const std::size_t columns = size().columns;
  std::string text = "\x1b[?25l";
  if (const std::size_t rows = rows_above()) text += fmt::format("\r\x1b[{}A", rows);
  drawn_.clear();
  for (const std::string& line : frame) {
    drawn_.push_back(columns_of(line));
    // After a full line the cursor may be on its last character, which must not be erased.
    text += line + (drawn_.back() < columns ? "\x1b[K\n" : "\n");
  }
  write_all(text + "\x1b[J\x1b[?25h");
}

void Screen::clear() {
  if (!is_live_ || drawn_.empty()) return;
  write_all(fmt::format("\r\x1b[{}A\x1b[J", rows_above()));
  drawn_.clear();
}

}  // namespace starling::daemon
