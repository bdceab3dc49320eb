#include "daemon/cli/terminal/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <sstream>
#include <string_view>

#include "base/utf8.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/cli/terminal/text_width.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kGapColumns = 2;
constexpr std::size_t kSummaryLines = 3;
constexpr std::size_t kNameColumns = 24;  // of a longer name the end is cut
constexpr std::size_t kBarColumns = 30;   // at most, and a third of the width
constexpr std::size_t kCurveLeast = 6, kCurveMost = 32;

enum class Tone { plain, good, odd, bad };

Tone tone_of(std::string_view state) {
  if (state == "training" || state == "alive" || state == "left") return Tone::plain;
  if (state == "finished") return Tone::good;
  return state == "ended" || state == "dead" ? Tone::bad : Tone::odd;
}

std::string toned(const std::string& text, Tone tone, Style style) {
  if (!style.has_color || tone == Tone::plain) return text;
  const int color = tone == Tone::good ? 32 : tone == Tone::odd ? 33 : 31;
  return fmt::format("\x1b[{}m{}\x1b[0m", color, text);
}

std::string_view ellipsis(Style style) {
  return style.is_utf8 ? "…" : "...";
}

std::string cell_of(const std::optional<double>& value, std::string (*format)(double)) {
  return value && std::isfinite(*value) ? format(*value) : "-";
}

// ---- the table

// One column: its title, how it is aligned, and when it is left out.
struct Shown {
  std::string_view title;
  bool is_flush_right = true;
  int rank = 0;                   // the largest is left out first
  std::size_t least_columns = 0;  // so that it does not move while numbers grow
  std::string (*text)(const NodeView& node) = nullptr;
  std::size_t columns = 0;
};

const std::array kShown = {
    Shown{"node", false, 0, 6, [](const NodeView& node) { return printable(node.name); }},
    Shown{"state", false, 3, 8, [](const NodeView& node) { return printable(node.state); }},
    Shown{"round", true, 0, 5, [](const NodeView& node) { return fmt::to_string(node.round); }},
    Shown{"loss", true, 1, 7,
          [](const NodeView& node) { return cell_of(node.loss, human_number); }},
    Shown{"accuracy", true, 2, 8,
          [](const NodeView& node) { return cell_of(node.accuracy, human_fraction); }},
    Shown{"rmse", true, 2, 7,
          [](const NodeView& node) { return cell_of(node.rmse, human_number); }},
    Shown{"distance", true, 5, 8,
          [](const NodeView& node) { return cell_of(node.distance, human_number); }}};
constexpr int kCurveRank = 4;

bool says_nothing(const Shown& column, const std::vector<NodeView>& nodes) {
  return column.rank > 1 && std::ranges::all_of(nodes, [&](const NodeView& node) {
           return column.text(node) == "-" || column.text(node).empty();
         });
}

std::size_t natural_columns(const Shown& column, const std::vector<NodeView>& nodes) {
  std::size_t widest = std::max(column.least_columns, columns_of(column.title));
  for (const NodeView& node : nodes) widest = std::max(widest, columns_of(column.text(node)));
  return column.is_flush_right ? widest : std::min(widest, kNameColumns);
}

struct Layout {
  std::vector<Shown> columns;
  std::size_t curve_columns = 0;  // 0: no room for curves
};

std::size_t columns_taken(const std::vector<Shown>& columns) {
  std::size_t taken = 0;
  for (const Shown& column : columns) taken += column.columns + kGapColumns;
  return taken;
}

// Curves are shown if they leave room for all columns of a lower rank.
Layout lay_out(const std::vector<NodeView>& nodes, std::size_t columns) {
  Layout layout;
  for (Shown column : kShown) {
    if (says_nothing(column, nodes)) continue;
    column.columns = natural_columns(column, nodes);
    layout.columns.push_back(column);
  }
  const bool has_curves =
      std::ranges::any_of(nodes, [](const NodeView& node) { return node.losses.size() > 1; });
  bool wants_curve = has_curves;
  const auto fits = [&] {
    return columns_taken(layout.columns) + (wants_curve ? kCurveLeast : 0) <=
           columns + (wants_curve ? 0 : kGapColumns);
  };
  while (!fits() && layout.columns.size() > 1) {
    const auto last = std::ranges::max_element(layout.columns, {}, &Shown::rank);
    if (wants_curve && last->rank < kCurveRank)
      wants_curve = false;
    else
      layout.columns.erase(last);
  }
  if (wants_curve)
    layout.curve_columns = std::min(kCurveMost, columns - columns_taken(layout.columns));
  return layout;
}

std::string padded(const std::string& text, const Shown& column) {
  const std::string blanks(column.columns - std::min(column.columns, columns_of(text)), ' ');
  return column.is_flush_right ? blanks + text : text + blanks;
}

std::string header(const Layout& layout) {
  std::string line;
  for (const Shown& column : layout.columns)
    line += (line.empty() ? "" : "  ") + padded(std::string(column.title), column);
  constexpr std::string_view kLong = "course of the loss", kShort = "course";
  if (layout.curve_columns > 0)
    line += fmt::format("  {}", layout.curve_columns < kLong.size() ? kShort : kLong);
  return line;
}

std::string row(const NodeView& node, const Layout& layout, Style style) {
  std::string line;
  for (const Shown& column : layout.columns) {
    const std::string text =
        padded(cut_to(column.text(node), column.columns, ellipsis(style)), column);
    const Tone tone = column.title == "state" ? tone_of(node.state) : Tone::plain;
    line += (line.empty() ? "" : "  ") + toned(text, tone, style);
  }
  if (layout.curve_columns > 0)
    line += "  " + sparkline(node.losses, layout.curve_columns,
                             style.is_utf8 ? Spark::blocks : Spark::ascii);
  return line;
}

// The smallest needs attention first.
int calm(const NodeView& node) {
  switch (tone_of(node.state)) {
    case Tone::bad:
      return 0;
    case Tone::odd:
      return node.state == "silent" ? 0 : 1;
    case Tone::plain:
      return 2;
    case Tone::good:
      break;
  }
  return 3;
}

bool comes_before(const NodeView& a, const NodeView& b) {
  if (calm(a) != calm(b)) return calm(a) < calm(b);
  if (a.round != b.round) return a.round < b.round;
  return a.loss.value_or(0) > b.loss.value_or(0);
}

void add_table(Frame& frame, const FleetView& view, Size size, Style style) {
  const std::size_t used = frame.size() + 2;  // with the titles and the cursor's line
  if (view.nodes.empty() || used >= size.rows) return;
  std::vector<NodeView> nodes = view.nodes;
  const Layout layout = lay_out(nodes, size.columns);
  std::size_t room = size.rows - used;
  if (nodes.size() > room) {
    std::ranges::stable_sort(nodes, comes_before);
    --room;
  }
  const std::size_t shown = std::min(room, nodes.size());
  frame.push_back(header(layout));
  for (std::size_t k = 0; k < shown; ++k) frame.push_back(row(nodes[k], layout, style));
  if (shown < nodes.size())
    frame.push_back(fmt::format("{} and {} more", ellipsis(style), nodes.size() - shown));
}

// ---- above the table

std::string bar(double done, std::size_t columns, Style style) {
  const auto full = static_cast<std::size_t>(done * static_cast<double>(columns));
  std::string text = "[";
  for (std::size_t k = 0; k < columns; ++k)
    text += k < full ? (style.is_utf8 ? "█" : "#") : (style.is_utf8 ? "░" : "-");
  return text + "]";
}

std::string count_text(double value) {
  if (value >= 1e6) return fmt::format("{:.3g} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.3g} k", value / 1e3);
  return value >= 1e3 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// Whole seconds: tenths would only flicker.
std::string time_left(double seconds) {
  return seconds < 60 ? fmt::format("{:.0f} s", std::ceil(seconds)) : human_duration(seconds);
}

std::string rates(const FleetView& view) {
  std::vector<std::string> parts;
  // Before the first round the rates are zeros that say nothing.
  if (std::ranges::all_of(view.nodes, [](const NodeView& node) { return node.round == 0; }))
    return {};
  if (view.rounds_per_s) parts.push_back(count_text(*view.rounds_per_s) + " rounds/s");
  if (view.samples_per_s) parts.push_back(count_text(*view.samples_per_s) + " samples/s");
  if (view.remaining_s && *view.remaining_s > 0)
    parts.push_back(time_left(*view.remaining_s) + " left");
  return fmt::format("{}", fmt::join(parts, "  "));
}

void add_summary(Frame& frame, const FleetView& view, Size size, Style style) {
  std::vector<std::string> lines = wrap_words(printable(view.summary), size.columns);
  if (view.summary.empty()) return;
  if (lines.size() > kSummaryLines) {
    lines.resize(kSummaryLines);
    lines.back() += ellipsis(style);
  }
  for (const std::string& line : lines)
    frame.push_back(toned(cut_to(line, size.columns, ellipsis(style)),
                          view.has_reasons ? Tone::odd : Tone::plain, style));
}

}  // namespace

Frame draw_progress(const FleetView& view, Size size, Style style) {
  Frame frame;
  std::string line = view.progress;
  if (view.done) {
    const std::size_t columns = std::min(kBarColumns, size.columns / 3);
    // Not 100 % before all is done.
    const int percent = static_cast<int>(100 * *view.done);
    line = fmt::format("{} {:>3} %  {}", bar(*view.done, columns, style), percent, view.progress);
  }
  if (!line.empty()) frame.push_back(cut_to(line, size.columns, ellipsis(style)));
  if (const std::string text = rates(view); !text.empty())
    frame.push_back(cut_to(text, size.columns, ellipsis(style)));
  return frame;
}

Frame draw(const FleetView& view, Size size, Style style) {
  Frame frame;
  add_summary(frame, view, size, style);
  std::ranges::move(draw_progress(view, size, style), std::back_inserter(frame));
  if (!frame.empty()) frame.emplace_back();
  add_table(frame, view, size, style);
  for (std::string& line : frame)
    if (columns_of(line) > size.columns) line = cut_to(line, size.columns, ellipsis(style));
  if (frame.size() + 1 > size.rows) frame.resize(std::max<std::size_t>(size.rows, 2) - 1);
  return frame;
}

Frame draw_text(const std::string& text, Size size, Style style) {
  Frame frame;
  // Blanks at the beginning of a line stay.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) frame.push_back(line);
  const std::size_t room = std::max<std::size_t>(size.rows, 2) - 1;
  if (frame.size() > room) {
    const std::size_t left_out = frame.size() - room + 1;
    frame.resize(room);
    frame.back() = fmt::format("{} and {} more lines", ellipsis(style), left_out);
  }
  for (std::string& line : frame) line = cut_to(line, size.columns, ellipsis(style));
  return frame;
}

}  // namespace starling::daemon
