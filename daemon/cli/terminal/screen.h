// Screen: redraws lines in place on a terminal. The one place that writes escape sequences which
// move the cursor. A frame is one write, so that nothing flickers; the cursor is hidden only within
// that write, so that it is visible however the program ends.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/cli/terminal/frame.h"

namespace starling::daemon {

class Screen {
 public:
  // Of that descriptor, which must outlive it. Looks at TERM, NO_COLOR and the locale.
  explicit Screen(int descriptor);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  // Shows the cursor once more if frames were drawn: Ctrl-C makes a terminal drop unprinted output,
  // perhaps the end of a frame.
  ~Screen();

  // Whether lines can be drawn over: a terminal that TERM does not call dumb. Otherwise nothing
  // below writes.
  bool is_live() const { return is_live_; }
  Style style() const { return style_; }
  // Asked anew each time, because a window may change.
  Size size() const;

  // Replaces the previous frame. The last frame stays, above later output.
  void draw(const Frame& frame);
  // Removes the frame before other output.
  void clear();

 private:
  std::size_t rows_above() const;
  void write_all(const std::string& text) const;

  int descriptor_;
  bool is_live_;
  Style style_;
  bool has_drawn_ = false;
  std::vector<std::size_t> drawn_;  // columns that each line of the frame took
};

// Whether LC_ALL, LC_CTYPE or LANG, the first of them that says anything, name UTF-8.
bool has_utf8_locale();

}  // namespace starling::daemon
