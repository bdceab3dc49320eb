#include "daemon/cli/terminal/quality.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "daemon/rest/document.h"
#include "daemon/rest/run_reading.h"
#include "daemon/rest/status_json.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using optim::Evaluation;

namespace {

Evaluation of_classes(double area, std::size_t rows, std::size_t found) {
  Evaluation evaluation;
  evaluation.accuracy = 0.9;
  evaluation.area = area;
  evaluation.pairs = 100.0 * static_cast<double>(rows);
  evaluation.samples = 100 + rows;
  evaluation.available = evaluation.samples;
  evaluation.rare = {"yes", rows, found};
  return evaluation;
}

}  // namespace

TEST_CASE("Each node says what its own rows alone reach beside the model of all") {
  const std::vector<gossip::NodeSummary> nodes{
      {.name = "site-0",
       .held_out = Evaluation{.rmse = 1100},
       .alone = Evaluation{.rmse = 1234, .samples = 90}},
      {.name = "site-1",
       .held_out = Evaluation{.accuracy = 0.8},
       .alone = Evaluation{.accuracy = 0.75, .samples = 90}},
      {.name = "site-2", .held_out = Evaluation{.accuracy = 0.8}}};
  CHECK(quality_lines(nodes) ==
        "site-0 alone: root mean square error 1234; with all 1100 (of 90 held-out rows)\n"
        "site-1 alone: accuracy 0.750; with all 0.800 (of 90 held-out rows)\n");
  CHECK(quality(of_classes(0.734, 10, 1)) == "area under the curve 0.734");
  CHECK(quality(Evaluation()).empty());
}

TEST_CASE("Recalls of a rare class add up and areas are weighted by their pairs") {
  const std::vector<gossip::NodeSummary> nodes{
      {.name = "a", .held_out = of_classes(0.9, 30, 6), .alone = of_classes(0.7, 30, 0)},
      {.name = "b", .held_out = of_classes(0.5, 10, 4), .alone = of_classes(0.6, 10, 0)}};
  CHECK(quality_lines(nodes) ==
        "a alone: area under the curve 0.700; with all 0.900 (of 130 held-out rows)\n"
        "b alone: area under the curve 0.600; with all 0.500 (of 110 held-out rows)\n"
        "On held-out rows: area under the curve 0.800, of the nodes alone 0.675 (means of the "
        "nodes, by pairs of rows); recall of yes 0.250 (10 of 40).\n");
}

TEST_CASE("Of many nodes the first ones are told") {
  const std::vector<gossip::NodeSummary> nodes(
      11, {.name = "n", .held_out = of_classes(0.9, 0, 0), .alone = of_classes(0.7, 0, 0)});
  CHECK(quality_lines(nodes).ends_with("... and 3 nodes more (--json has all).\n"));
}

TEST_CASE("The status has the penalty and the model of the own rows and an evaluation of classes") {
  Snapshot snapshot = example_snapshot();
  snapshot.status.run.preparation = {
      .l2 = 0.00123, .l2_reason = "10 / 8,100 rows, ...", .alone = of_classes(0.7, 30, 2)};
  snapshot.status.run.evaluation = of_classes(0.8, 30, 12);
  const nlohmann::json run = status_json(snapshot, std::nullopt)["run"];
  CHECK(l2_line(run) == "model.l2 = 0.0012: 10 / 8,100 rows, ...");
  CHECK(l2_line(nlohmann::json{{"l2", {{"value", 0.5}}}}).empty());
  CHECK_FALSE(run["alone"].contains("round"));
  const auto alone = read_evaluation(part(run, "alone"));
  REQUIRE(alone);
  CHECK(alone->area == 0.7);
  CHECK(alone->pairs == 3000);
  CHECK(read_evaluation(part(run, "eval"))->rare->found == 12);
  CHECK_FALSE(read_evaluation(part(run, "nothing")));
}
