#include "daemon/cli/sweep/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "daemon/rest/page.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

// `curves` and `loss` come before it. The first seed of a row has its name; all have its color.
constexpr std::string_view kScript = R"(
const kUnits = [[1e9, ' GB'], [1e6, ' MB'], [1e3, ' kB'], [1, ' B']];
const bytes = (value) => {
  const [size, unit] = kUnits.find(([size]) => value >= size) ?? [1, ' B'];
  return +(value / size).toPrecision(3) + unit;
};
const seconds = (value) => +value.toPrecision(4) + ' s';
const color = (row) => `hsl(${(row * 137.5) % 360} 65% 45%)`;
const draw = (title, axis, text) => {
  const shown = curves.filter((curve) => curve[axis].length > 0);
  const data = uPlot.join(shown.map((curve) => [curve[axis], curve.loss]));
  const least = Math.min(...shown.flatMap((curve) => curve.loss));
  const series = shown.map((curve) => ({
    label: curve.name, stroke: color(curve.row), width: 2, spanGaps: true, points: { show: false },
    value: (plot, value) => value?.toPrecision(4) ?? '' }));
  new uPlot({
    title, width: 960, height: 420,
    scales: { x: { time: false }, y: { distr: least > 0 ? 3 : 1 } },
    axes: [{ values: (plot, values) => values.map(text) }, { label: loss, size: 70 }],
    series: [{ label: axis, value: (plot, value) => value == null ? '' : text(value) }, ...series],
  }, data, document.body);
};
draw(`${loss} over time`, 'time', seconds);
draw(`${loss} over bytes that a node has sent`, 'bytes', bytes);
)";

std::string_view bytes_of(std::string_view path) {
  const auto files = page_files();
  const auto found = std::ranges::find(files, path, &PageFile::path);
  ENSURE(found != files.end(), "the library of the charts is part of the program");
  return found->bytes;
}

// Abscissas rise strictly, as the library wants them.
json curve_json(const SweepCurve& curve, std::size_t row, const std::string& name) {
  json time = json::array(), bytes = json::array(), loss = json::array();
  double last_s = -1, last_bytes = -1;
  for (const SweepCurve::Point& point : curve.points) {
    if (!(point.time_s > last_s && point.bytes > last_bytes)) continue;
    last_s = point.time_s, last_bytes = point.bytes;
    time.push_back(point.time_s);
    bytes.push_back(point.bytes);
    loss.push_back(point.loss);
  }
  return {{"row", row}, {"name", name}, {"time", time}, {"bytes", bytes}, {"loss", loss}};
}

// JSON as a part of a script: no text in it ends the script.
std::string in_script(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;)
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::string sweep_page(const SweepTable& table, std::span<const GridPoint> points) {
  json curves = json::array();
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    for (const SweepCurve& curve : table.rows[row].curves)
      curves.push_back(curve_json(curve, row, point_name(points[table.rows[row].point])));
  return fmt::format(
      "<!doctype html>\n<meta charset=\"utf-8\">\n<title>starling sweep</title>\n"
      "<style>{}body {{ font: 14px sans-serif; margin: 2em; }} "
      ".u-legend {{ text-align: left; }}</style>\n<script>{}</script>\n"
      "<body><script type=\"module\">\nconst curves = {};\nconst loss = {};{}</script>\n",
      bytes_of("third_party/uPlot.min.css"), bytes_of("third_party/uPlot.iife.min.js"),
      in_script(curves), in_script(table.is_held_out ? "held-out loss" : "loss"), kScript);
}

}  // namespace starling::daemon
