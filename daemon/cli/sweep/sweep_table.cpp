#include "daemon/cli/sweep/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "daemon/cli/terminal/table.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using Json = nlohmann::ordered_json;

SweepCurve read_curve(const json& series, const char* loss) {
  SweepCurve curve;
  for (const json& point : series)
    if (const auto value = number(point, loss))
      curve.points.push_back(
          {number(point, "time_s").value_or(0), number(point, "bytes").value_or(0), *value});
  return curve;
}

// By the last point up to there.
std::optional<double> loss_at(const SweepCurve& curve, double SweepCurve::Point::*axis,
                              double limit) {
  std::optional<double> loss;
  for (const SweepCurve::Point& point : curve.points)
    if (point.*axis <= limit) loss = point.loss;
  return loss;
}

std::optional<Moments> losses_at(const SweepRow& row, double SweepCurve::Point::*axis,
                                 double limit) {
  std::vector<double> losses;
  for (const SweepCurve& curve : row.curves)
    if (const auto loss = loss_at(curve, axis, limit)) losses.push_back(*loss);
  return moments(losses);
}

double mean_end(const SweepRow& row, double SweepCurve::Point::*axis) {
  double sum = 0;
  for (const SweepCurve& curve : row.curves)
    sum += curve.points.back().*axis / static_cast<double>(row.curves.size());
  return sum;
}

// The least that a run has come to.
double least_end(std::span<const SweepRow> rows, double SweepCurve::Point::*axis) {
  double least = std::numeric_limits<double>::infinity();
  for (const SweepRow& row : rows)
    for (const SweepCurve& curve : row.curves) least = std::min(least, curve.points.back().*axis);
  return std::isfinite(least) ? least : 0;
}

double order_of(const std::optional<Moments>& loss) {
  return loss ? loss->mean : std::numeric_limits<double>::infinity();
}

const SweepRow* best(std::span<const SweepRow> rows, std::optional<Moments> SweepRow::*loss) {
  const auto found =
      std::ranges::min_element(rows, {}, [&](const SweepRow& row) { return order_of(row.*loss); });
  return found != rows.end() && (*found).*loss ? &*found : nullptr;
}

std::string cell(const std::optional<Moments>& loss, std::size_t runs) {
  if (!loss) return "-";
  const std::string mean = human_number(loss->mean);
  return runs > 1 ? fmt::format("{} ± {}", mean, human_number(loss->deviation)) : mean;
}

// A line for each problem, with the first point that has it.
std::string problems_of(const SweepTable& table, std::span<const GridPoint> points) {
  std::map<std::string, std::vector<std::string>> names;
  for (const SweepRow& row : table.rows)
    if (!row.problem.empty()) names[row.problem].push_back(point_name(points[row.point]));
  std::string text;
  for (const auto& [problem, of] : names)
    text += fmt::format("Failed: {}{}: {}\n", of.front(),
                        of.size() > 1 ? fmt::format(" and {} more", of.size() - 1) : "", problem);
  return text;
}

void put(Json& object, const char* name, const std::optional<Moments>& loss) {
  if (loss) object[name] = {{"mean", loss->mean}, {"deviation", loss->deviation}};
}

Json settings_json(const GridPoint& point) {
  Json object = Json::object();
  for (const auto& [key, value] : point) object[key] = value;
  return object;
}

}  // namespace

SweepCurve curve_of(const json& document) {
  const json& series = part(document, "series");
  SweepCurve curve = read_curve(series, "held_out_loss");
  curve.is_held_out = !curve.points.empty();
  return curve.is_held_out ? curve : read_curve(series, "loss");
}

const SweepRow* SweepTable::best_by_time() const {
  return best(rows, &SweepRow::at_time);
}
const SweepRow* SweepTable::best_by_bytes() const {
  return best(rows, &SweepRow::at_bytes);
}

SweepTable table_of(std::span<const SweepRun> runs, std::size_t points) {
  SweepTable table;
  table.rows.resize(points);
  for (std::size_t k = 0; k < points; ++k) table.rows[k].point = k;
  for (const SweepRun& run : runs) {
    SweepRow& row = table.rows[run.point];
    SweepCurve curve = curve_of(run.document);
    if (row.problem.empty()) row.problem = run.problem;
    if (curve.points.empty()) continue;
    table.is_held_out = table.is_held_out || curve.is_held_out;
    row.curves.push_back(std::move(curve));
  }
  using Point = SweepCurve::Point;
  table.time_s = least_end(table.rows, &Point::time_s);
  table.bytes = least_end(table.rows, &Point::bytes);
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  for (SweepRow& row : table.rows) {
    row.at_time = losses_at(row, &Point::time_s, table.time_s);
    row.at_bytes = losses_at(row, &Point::bytes, table.bytes);
    row.at_end = losses_at(row, &Point::time_s, kEnd);
    row.time_s = mean_end(row, &Point::time_s);
    row.bytes = mean_end(row, &Point::bytes);
  }
  std::ranges::stable_sort(table.rows, {},
                           [](const SweepRow& row) { return order_of(row.at_time); });
  return table;
}

std::string text_of(const SweepTable& table, std::span<const GridPoint> points) {
  const char* const loss = table.is_held_out ? "held-out loss" : "loss";
  std::vector<std::string> titles;
  for (const auto& [key, value] : points.front()) titles.push_back(key);
  titles.push_back(fmt::format(">{} at {}", loss, human_duration(table.time_s)));
  titles.push_back(fmt::format(">at {}", human_bytes(table.bytes)));
  for (const char* title : {">at the end", ">after", ">sent a node"}) titles.emplace_back(title);
  Table text(titles);
  for (const SweepRow& row : table.rows) {
    std::vector<std::string> cells;
    for (const auto& [key, value] : points[row.point]) cells.push_back(value);
    for (const auto& found : {row.at_time, row.at_bytes, row.at_end})
      cells.push_back(cell(found, row.curves.size()));
    const bool has_run = !row.curves.empty();
    cells.push_back(has_run ? human_duration(row.time_s) : "-");
    cells.push_back(has_run ? human_bytes(row.bytes) : "-");
    text.add(std::move(cells));
  }
  return text.text() + problems_of(table, points);
}

Json json_of(const SweepTable& table, std::span<const GridPoint> points) {
  Json rows = Json::array();
  for (const SweepRow& row : table.rows) {
    Json object = {{"settings", settings_json(points[row.point])}, {"runs", row.curves.size()}};
    put(object, "loss_at_time", row.at_time);
    put(object, "loss_at_bytes", row.at_bytes);
    put(object, "loss", row.at_end);
    if (!row.curves.empty()) object["time_s"] = row.time_s;
    if (!row.curves.empty()) object["bytes"] = row.bytes;
    if (!row.problem.empty()) object["problem"] = row.problem;
    rows.push_back(std::move(object));
  }
  Json object = {{"time_s", table.time_s},
                 {"bytes", table.bytes},
                 {"held_out", table.is_held_out},
                 {"rows", std::move(rows)}};
  if (const SweepRow* row = table.best_by_time())
    object["best_by_time"] = settings_json(points[row->point]);
  if (const SweepRow* row = table.best_by_bytes())
    object["best_by_bytes"] = settings_json(points[row->point]);
  return object;
}

}  // namespace starling::daemon
