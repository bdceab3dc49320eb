#include "daemon/cli/terminal/progress_line.h"

#include <fmt/core.h>

#include <cstdio>

namespace starling::daemon {

using namespace std::chrono_literals;

ProgressLine::ProgressLine()
    : every_(screen_.is_live() ? Clock::duration(500ms) : Clock::duration(10s)),
      due_(Clock::now() + every_) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(Clock::time_point now, const std::string& text) {
  due_ = now + every_;
  if (screen_.is_live())
    screen_.draw(draw_text(text, screen_.size(), screen_.style()));
  else
    fmt::print(stderr, "{}\n", text);
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  screen_.clear();
}

}  // namespace starling::daemon
