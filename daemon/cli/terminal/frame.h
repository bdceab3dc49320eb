// Frame: a training fleet as lines for a terminal of a given size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/cli/terminal/fleet_view.h"

namespace starling::daemon {

struct Size {
  std::size_t columns = 80, rows = 24;
};

struct Style {
  bool has_color = false;  // the lines have escape sequences for colours
  bool is_utf8 = true;     // else ASCII only, except names
};

// Lines without their ends. None takes more columns than the terminal has.
using Frame = std::vector<std::string>;

// The sentence, a bar to the goal, rates, and a line a node: at most size.rows - 1 lines, so that
// the cursor stands below them. Empty columns are left out, and, least important first, columns
// that do not fit. If not all nodes fit, those that need attention come first: ended and silent
// ones, those that do not train normally, then those with low rounds.
Frame draw(const FleetView& view, Size size, Style style);

// The bar and the rates of `draw` alone; empty if there is nothing to show.
Frame draw_progress(const FleetView& view, Size size, Style style);

// Lines of text, cut to fit.
Frame draw_text(const std::string& text, Size size, Style style);

}  // namespace starling::daemon
