// A sweep: its grid, and what its table makes of the documents of runs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "daemon/cli/sweep/grid.h"
#include "daemon/cli/sweep/sweep_page.h"
#include "daemon/cli/sweep/sweep_table.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

json point(double time_s, double bytes, const char* name, double loss) {
  return {{"round", 1}, {"time_s", time_s}, {"bytes", bytes}, {name, loss}};
}

SweepRun run_of(std::size_t at, json series) {
  return {.point = at, .arguments = {}, .document = {{"series", std::move(series)}}, .problem = {}};
}

// The first is quick and sends much, the second is slow and sends little.
std::vector<SweepRun> two_runs() {
  return {run_of(0, {point(1, 100, "held_out_loss", 3), point(2, 200, "held_out_loss", 1)}),
          run_of(1, {point(2, 40, "held_out_loss", 4), point(4, 80, "held_out_loss", 0.5)})};
}

const std::vector<GridPoint> kPoints = {{{"exchange.codec", "f32"}}, {{"exchange.codec", "i4"}}};

}  // namespace

TEST_CASE("A grid has every combination and its last key varies fastest") {
  const std::vector<std::string> words = {"optim.learning-rate=.01, .03", "exchange.codec=i4"};
  const auto keys = parse_grid(words);
  REQUIRE(keys.has_value());
  const std::vector<GridPoint> points = points_of(*keys);
  REQUIRE(points.size() == 2);
  CHECK(point_name(points[1]) == "optim.learning-rate=.03 exchange.codec=i4");
}

TEST_CASE("A word that is no key with values is refused and said") {
  const auto error = [](std::vector<std::string> words) { return parse_grid(words).error().text; };
  CHECK(error({"exchange.codec"}).find("\"exchange.codec\": expected a key and its values") == 0);
  CHECK(error({"exchange.codec="}).find("expected a key and its values") != std::string::npos);
  CHECK(error({"nodes=1,2"}).find("expected a key and its values") != std::string::npos);
  CHECK(error({"a.b=1", "a.b=2"}) ==
        "a.b is named twice; expected all its values together, with commas");
  CHECK(error({"a.b=1,1"}) == "a.b=1,1: the value 1 is named twice");
}

TEST_CASE("Runs are compared at the time of the shortest and at the bytes of the thriftiest") {
  const std::vector<SweepRun> runs = two_runs();
  const SweepTable table = table_of(runs, 2);
  CHECK(table.time_s == 2);
  CHECK(table.bytes == 80);
  CHECK(table.is_held_out);
  CHECK(table.best_by_time()->point == 0);
  CHECK(table.best_by_time()->at_time->mean == 1);
  CHECK(table.rows[1].at_time->mean == 4);
  CHECK(table.best_by_bytes()->point == 1);
  CHECK_FALSE(table.rows[0].at_bytes.has_value());
  const auto document = json_of(table, kPoints);
  CHECK(document["best_by_bytes"]["exchange.codec"] == "i4");
  CHECK(document["rows"][1]["loss"]["mean"] == 0.5);
}

TEST_CASE("A table has the mean and the deviation over seeds and says why runs failed") {
  std::vector<SweepRun> runs = two_runs();
  runs[1].point = 0;
  runs.push_back({.point = 1, .arguments = {}, .document = {}, .problem = "no such file"});
  const SweepTable table = table_of(runs, 2);
  CHECK(table.rows[0].at_time->mean == 2.5);
  CHECK(table.rows[0].at_time->deviation == doctest::Approx(std::sqrt(4.5)));
  CHECK(table.rows[0].time_s == 3);
  CHECK(table.rows[1].problem == "no such file");
  const std::string text = text_of(table, kPoints);
  CHECK(text.find("2.5 ± 2.12") != std::string::npos);
  CHECK(text.find("no such file") != std::string::npos);
}

TEST_CASE("Without held-out samples the loss is that of training") {
  const std::vector<SweepRun> runs = {run_of(0, {point(1, 100, "loss", 3)})};
  const SweepTable table = table_of(runs, 1);
  CHECK_FALSE(table.is_held_out);
  CHECK(table.rows[0].at_end->mean == 3);
  CHECK(table_of(std::vector<SweepRun>(1), 1).best_by_time() == nullptr);
}

TEST_CASE("No name of a value ends the script of the page") {
  const std::vector<SweepRun> runs = two_runs();
  const std::vector<GridPoint> points = {{{"data.path", "</script><b>"}}, {{"data.path", "x"}}};
  const std::string page = sweep_page(table_of(runs, 2), points);
  CHECK(page.find("\\u003c/script>\\u003cb>") != std::string::npos);
  CHECK(page.find("</script><b>") == std::string::npos);
  CHECK(page.find("\"loss\":[3.0,1.0]") != std::string::npos);
}
