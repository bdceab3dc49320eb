// Frame: a fleet that trains, as lines for a terminal of a given size.
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
  bool has_color = false;  // escape sequences that set colours stand in the lines
  bool is_utf8 = true;     // else ASCII alone, but for names
};

// Lines without their ends. None takes more columns than the terminal has.
using Frame = std::vector<std::string>;

// The sentence, a bar to the goal, rates, and a line a node: at most size.rows - 1 lines, so that
// the cursor stands below them. Columns that do not fit are left out, the least telling first, as
// are those that say nothing. Of more nodes than fit those come first that need somebody: the ended
// and the silent, those that do not simply train, then those that are behind.
Frame draw(const FleetView& view, Size size, Style style);

// The bar and the rates of `draw` alone; empty without anything to say.
Frame draw_progress(const FleetView& view, Size size, Style style);

// Lines of text, cut where they do not fit.
Frame draw_text(const std::string& text, Size size, Style style);

}  // namespace starling::daemon
