#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cli/ask/fleet_documents.h"
#include "daemon/cli/ask/live_query.h"
#include "daemon/cli/terminal/fleet_view.h"
#include "daemon/cli/terminal/frame.h"
#include "daemon/cli/terminal/text_width.h"
#include "daemon/rest/fleet_json.h"
#include "daemon/rest/status_json.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

constexpr Style kAscii{.has_color = false, .is_utf8 = false};
constexpr Style kUnicode{.has_color = false, .is_utf8 = true};

std::string text_of(const Frame& frame) {
  return fmt::format("{}\n", fmt::join(frame, "\n"));
}

NodeView node_view(std::size_t k) {
  return {.name = fmt::format("node-{}", k),
          .state = "training",
          .round = 100 + k,
          .loss = 0.25,
          .accuracy = 0.9,
          .distance = 0.0125,
          .losses = {4, 2, 1, 0.5, 0.25}};
}

FleetView example_view(std::size_t nodes, bool has_goal) {
  FleetView view{.summary = fmt::format("{} nodes train, loss 0.25 falling, accuracy 90.0 %, "
                                        "models within 1.2 % of their mean",
                                        nodes),
                 .rounds_per_s = 12.5,
                 .samples_per_s = 64'000};
  for (std::size_t k = 0; k < nodes; ++k) view.nodes.push_back(node_view(k));
  if (has_goal) view.done = 0.25, view.remaining_s = 24;
  view.progress = has_goal ? "100 of 400 rounds" : "round 100";
  return view;
}

std::size_t widest(const Frame& frame) {
  std::size_t widest = 0;
  for (const std::string& line : frame) widest = std::max(widest, columns_of(line));
  return widest;
}

// The documents of one node, as LiveQuery asks for them.
json document_of_example(const std::string& target) {
  const Snapshot snapshot = example_snapshot();
  if (target == "/v1/members") return members_json(snapshot);
  if (target == "/v1/status") return status_json(snapshot, std::nullopt);
  if (target == "/v1/config") return {{"stop.rounds", {{"value", "84"}}}};
  return nullptr;
}

}  // namespace

TEST_CASE("Four nodes on the way to a goal fit sixty columns") {
  CHECK(text_of(draw(example_view(4, true), {60, 20}, kUnicode)) ==
        "4 nodes train, loss 0.25 falling, accuracy 90.0 %, models\n"
        "within 1.2 % of their mean\n"
        "[█████░░░░░░░░░░░░░░░]  25 %  100 of 400 rounds\n"
        "12.5 rounds/s  64 k samples/s  24 s left\n"
        "\n"
        "node    state     round     loss  accuracy  distance  course\n"
        "node-0  training    100     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "node-1  training    101     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "node-2  training    102     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "node-3  training    103     0.25    90.0 %    0.0125  █▄▂▁▁\n");
}

TEST_CASE("Eighty columns without a goal have no bar and longer curves") {
  CHECK(text_of(draw(example_view(1, false), {80, 24}, kAscii)) ==
        "1 nodes train, loss 0.25 falling, accuracy 90.0 %, models within 1.2 % of their\n"
        "mean\n"
        "round 100\n"
        "12.5 rounds/s  64 k samples/s\n"
        "\n"
        "node    state     round     loss  accuracy  distance  course of the loss\n"
        "node-0  training    100     0.25    90.0 %    0.0125  #~.__\n");
}

TEST_CASE("Of more nodes than fit those that need somebody come first") {
  FleetView view = example_view(64, true);
  view.nodes[50].state = "ended";
  view.nodes[40].state = "degraded";
  view.nodes[30].state = "silent";
  view.nodes[20].round = 7;
  CHECK(text_of(draw(view, {120, 12}, kUnicode)) ==
        "64 nodes train, loss 0.25 falling, accuracy 90.0 %, models within 1.2 % of their mean\n"
        "[███████░░░░░░░░░░░░░░░░░░░░░░░]  25 %  100 of 400 rounds\n"
        "12.5 rounds/s  64 k samples/s  24 s left\n"
        "\n"
        "node     state     round     loss  accuracy  distance  course of the loss\n"
        "node-30  silent      130     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "node-50  ended       150     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "node-40  degraded    140     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "node-20  training      7     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "node-0   training    100     0.25    90.0 %    0.0125  █▄▂▁▁\n"
        "… and 59 more\n");
}

TEST_CASE("No line of a frame is wider than its terminal nor a frame higher") {
  for (const std::size_t nodes : {1U, 4U, 64U})
    for (const bool has_goal : {false, true})
      for (const Style style : {kAscii, kUnicode})
        for (std::size_t columns = 1; columns <= 130; columns += nodes == 64 ? 9 : 1)
          for (const std::size_t rows : {1U, 2U, 3U, 5U, 8U, 24U, 100U}) {
            CAPTURE(columns);
            CAPTURE(rows);
            const Frame frame = draw(example_view(nodes, has_goal), {columns, rows}, style);
            CHECK(widest(frame) <= columns);
            CHECK(frame.size() <= std::max<std::size_t>(rows, 2) - 1);
          }
}

TEST_CASE("Where there is no room the distance goes first and the round stays") {
  const FleetView view = example_view(4, true);
  const auto titles = [&](std::size_t columns) {
    const Frame frame = draw(view, {columns, 20}, kAscii);
    return frame.at(frame.size() - view.nodes.size() - 1);
  };
  CHECK(titles(60) == "node    state     round     loss  accuracy  distance  course");
  CHECK(titles(59) == "node    state     round     loss  accuracy  course");
  CHECK(titles(48) == "node    state     round     loss  accuracy");
  CHECK(titles(38) == "node    round     loss  accuracy");
  CHECK(titles(24) == "node    round     loss");
  CHECK(titles(20) == "node    round");
}

TEST_CASE("Colours stand where something is not as usual") {
  FleetView view = example_view(4, true);
  const Style style{.has_color = true, .is_utf8 = true};
  CHECK(text_of(draw(view, {80, 24}, style)).find('\x1b') == std::string::npos);
  view.nodes[1].state = "degraded";
  view.nodes[2].state = "ended";
  view.nodes[3].state = "finished";
  const std::string text = text_of(draw(view, {80, 24}, style));
  CHECK(text.find("\x1b[33mdegraded\x1b[0m") != std::string::npos);
  CHECK(text.find("\x1b[31mended   \x1b[0m") != std::string::npos);
  CHECK(text.find("\x1b[32mfinished\x1b[0m") != std::string::npos);
  CHECK(widest(draw(view, {80, 24}, style)) <= 80);
  CHECK(text_of(draw(view, {80, 24}, kUnicode)).find('\x1b') == std::string::npos);
}

TEST_CASE("A name of another node neither steers nor breaks the frame") {
  FleetView view = example_view(1, false);
  view.nodes[0].name = "\x1b[2Ja\nname of more than twenty-four columns";
  view.summary = "going on without \x1b]0;x\x07 here";
  for (const std::string& line : draw(view, {60, 20}, kUnicode)) {
    CHECK(line.find('\x1b') == std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(columns_of(line) <= 60);
  }
  view.nodes[0].name = "東京";
  view.nodes[0].losses.clear();
  const Frame frame = draw(view, {60, 20}, kUnicode);
  CHECK(frame.back().starts_with("東京    training"));
}

TEST_CASE("Text takes the columns that a terminal gives it") {
  CHECK(columns_of("node") == 4);
  CHECK(columns_of("café") == 4);
  CHECK(columns_of("cafe\xcc\x81") == 4);
  CHECK(columns_of("東京") == 4);
  CHECK(columns_of("\x1b[33mab\x1b[0m") == 2);
  CHECK(columns_of("\xff\xc3") == 2);
  CHECK(cut_to("node-12", 7, "…") == "node-12");
  CHECK(cut_to("node-123", 7, "…") == "node-1…");
  CHECK(cut_to("東京都", 4, "…") == "東…");
  CHECK(cut_to("abc", 1, "...") == ".");
  CHECK(wrap_words("aa bb cc", 5) == std::vector<std::string>{"aa bb", "cc"});
  CHECK(wrap_words("long words", 2) == std::vector<std::string>{"long", "words"});
}

TEST_CASE("A course gives rates over the last seconds and curves of all") {
  FleetRates rates;
  std::vector<NodeView> nodes(2);
  nodes[0].name = "a";
  nodes[1].name = "b";
  for (int k = 0; k <= 1000; ++k) {
    // From 500 s on twice as fast.
    const double round = k <= 500 ? k : 500 + 2 * (k - 500);
    for (NodeView& node : nodes) {
      node.round = static_cast<std::uint64_t>(round);
      node.loss = 1000 - k;
    }
    rates.add(k, nodes, 32 * round);
  }
  CHECK(*rates.rounds_per_s() == doctest::Approx(2));
  CHECK(*rates.samples_per_s() == doctest::Approx(64));
  CHECK(nodes[0].losses.size() <= FleetRates::kLossesLimit + 1);
  CHECK(nodes[0].losses.size() >= FleetRates::kLossesLimit / 2);
  CHECK(nodes[0].losses.front() == 1000);
  CHECK(nodes[0].losses.back() == 0);
  CHECK(std::ranges::is_sorted(nodes[1].losses, std::greater{}));
}

TEST_CASE("A node that begins again takes from the rates only what it does not do meanwhile") {
  FleetRates rates;
  std::vector<NodeView> nodes(2);
  nodes[0].name = "a";
  nodes[1].name = "b";
  for (std::uint64_t k = 0; k <= 10; ++k) {
    nodes[0].round = 1000 + 4 * k;
    nodes[1].round = k < 5 ? 1000 + 4 * k : 4 * (k - 5);
    rates.add(static_cast<double>(k), nodes,
              32.0 * static_cast<double>(nodes[0].round + nodes[1].round));
  }
  CHECK(*rates.rounds_per_s() == doctest::Approx(2));
  CHECK(*rates.samples_per_s() == doctest::Approx(0.9 * 256));
}

TEST_CASE("A node that is gone holds neither the bar nor the rate back") {
  FleetRates rates;
  FleetView view = example_view(3, false);
  for (int k = 0; k <= 5; ++k) {
    if (k == 3) view.nodes[0].state = "ended";
    for (NodeView& node : view.nodes)
      if (!is_gone(node)) node.round += 4;
    rates.add(k, view.nodes, std::nullopt);
  }
  CHECK(*rates.rounds_per_s() == doctest::Approx(4));
  CHECK_FALSE(rates.samples_per_s().has_value());
  read_progress(nlohmann::json::object(), view);
  CHECK(view.progress == "round 125");
}

TEST_CASE("The bar and the time left are those that a node tells") {
  FleetView view = example_view(4, false);
  read_progress({{"progress", "100 rounds of 200 rounds"}, {"done", 0.8}, {"remaining_s", 2}},
                view);
  CHECK(*view.done == doctest::Approx(0.8));
  CHECK(*view.remaining_s == doctest::Approx(2));
  CHECK(view.progress == "100 rounds of 200 rounds");

  FleetView endless = example_view(4, false);
  read_progress(nlohmann::json::object(), endless);
  CHECK_FALSE(endless.done.has_value());
  CHECK(endless.progress == "round 100");
}

TEST_CASE("What is drawn of a fleet comes from the documents of one node") {
  LiveQuery live(document_of_example);
  const Snapshot snapshot = example_snapshot();
  const auto fleet = live.frame("fleet", fleet_json(snapshot), 1, {80, 24}, kAscii);
  REQUIRE(fleet.has_value());
  CHECK(fleet->at(0).starts_with("1 of 4 nodes died "));
  CHECK(text_of(*fleet).find("member is") != std::string::npos);
  CHECK(fleet->back().starts_with("node-3  dead"));
  CHECK(std::ranges::any_of(
      *fleet, [](const std::string& line) { return line.starts_with("[############"); }));

  LiveQuery own(document_of_example);
  const auto status = own.frame("status", status_json(snapshot, std::nullopt), 1, {60, 40}, kAscii);
  REQUIRE(status.has_value());
  CHECK(text_of(*status).find("42 of 84 rounds") != std::string::npos);
  CHECK(text_of(*status).find("consensus  distance 0.02") != std::string::npos);
  CHECK(text_of(*status).find("\n           learning rate 0.1\n") != std::string::npos);
  CHECK(widest(*status) <= 60);
  CHECK_FALSE(own.frame("status", json::parse(R"({"run":{"round":"x"}})"), 2, {60, 40}, kAscii)
                  .has_value());

  const auto members = own.frame("members", members_json(snapshot), 3, {60, 4}, kAscii);
  REQUIRE(members.has_value());
  CHECK(members->size() == 3);
  CHECK(members->back() == "... and 3 more lines");
}
