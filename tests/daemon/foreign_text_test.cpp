// Texts from a hostile member, at each place where people or programs read them: none steers a
// terminal, begins a line, ends a field, or becomes a formula.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/ask/export_text.h"
#include "daemon/cli/ask/fleet_documents.h"
#include "daemon/cli/ask/present.h"
#include "daemon/cli/terminal/frame.h"
#include "daemon/rest/fleet_json.h"
#include "daemon/rest/metrics_text.h"
#include "daemon/rest/status_json.h"
#include "tests/daemon/snapshot_example.h"
#include "topology/build.h"
#include "topology/plan.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

const std::vector<std::string> kHostile = {
    "\x1b[2J\x1b[1;1Hall is well",
    "x\n12:00:00.000 info    node-0: goal reached",
    "a\r\nb,c\"d",
    "invoice\u202egnp.exe",
    "\u200b\u2066node-1\u2069",
    "\x9b"
    "2J\xff\xc3",
    "=HYPERLINK(\"http://evil.example\")",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\"} 1\n# HELP starling_up\nstarling_up{x=\"",
    "\\",
    "\"; x [label=\"",
};

// Every text of the document, names of fields aside, as `text`.
json with_texts(json document, const std::string& text) {
  if (document.is_string()) return text;
  if (document.is_structured())
    for (auto& item : document) item = with_texts(item, text);
  return document;
}

void check_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CHECK(is_plain(line));
    CHECK(is_utf8(line));
  }
}

std::size_t line_count(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// The records of comma-separated values, as RFC 4180 has them.
std::vector<std::vector<std::string>> read_csv(std::string_view text) {
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> record(1);
  bool is_quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char sign = text[k];
    if (is_quoted && sign == '"' && text.substr(k + 1).starts_with('"'))
      record.back() += text[++k];
    else if (sign == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted && sign == ',')
      record.emplace_back();
    else if (!is_quoted && text.substr(k).starts_with("\r\n"))
      ++k, records.push_back(std::exchange(record, std::vector<std::string>(1)));
    else
      record.back() += sign;
  }
  CHECK_FALSE(is_quoted);
  return records;
}

Snapshot hostile_snapshot(const std::string& text) {
  Snapshot snapshot = example_snapshot();
  snapshot.identity.name = text;
  snapshot.status.reasons = {text};
  snapshot.status.run.shard_description = text;
  for (gossip::MemberStatus& member : snapshot.status.members)
    member.member.change([&](gossip::Member& changed) { changed.name = text; });
  for (gossip::EdgeStatus& edge : snapshot.status.edges) edge.name = text;
  return snapshot;
}

}  // namespace

TEST_CASE("A hostile member steers no terminal") {
  const Snapshot snapshot = example_snapshot();
  const json status = status_json(snapshot, 0.5, 0.4), fleet = fleet_json(snapshot);
  const json events = {
      {"events",
       {{{"sequence", 1}, {"time_s", 2}, {"at", "x"}, {"kind", "joined"}, {"text", "x"}}}}};
  const std::vector<std::pair<std::string, json>> answers = {
      {"status", status},
      {"fleet", fleet},
      {"members", members_json(snapshot)},
      {"neighbors", neighbors_json(snapshot)},
      {"events", events}};
  for (const std::string& text : kHostile)
    for (const auto& [command, document] : answers) {
      CAPTURE(text);
      CAPTURE(command);
      const auto shown = present(command, with_texts(document, text));
      if (!shown) {
        CHECK(is_plain(shown.error().text));
        continue;
      }
      CHECK_FALSE(shown->empty());
      check_lines(*shown);
      CHECK(shown->find("\n12:00:00.000") == std::string::npos);
    }
}

TEST_CASE("A hostile member steers no live view") {
  const Snapshot snapshot = example_snapshot();
  for (const std::string& text : kHostile) {
    CAPTURE(text);
    const json members = with_texts(members_json(snapshot), text);
    const json status = with_texts(status_json(snapshot, 0.5, 0.4), text);
    for (const auto& view : {view_of_fleet(with_texts(fleet_json(snapshot), text), members, status),
                             view_of_node(status)}) {
      REQUIRE(view.has_value());
      for (const std::string& line : draw(*view, {.columns = 80, .rows = 24}, {})) {
        CHECK(is_plain(line));
        CHECK(is_utf8(line));
      }
    }
  }
}

TEST_CASE("A hostile member writes no formula and no field of its own into a table") {
  for (const std::string& text : kHostile) {
    CAPTURE(text);
    const std::vector<NodeExport> nodes = {
        {.name = text,
         .series = {{{"round", 1}, {"loss", -0.5}}},
         .events = {{{"sequence", 1}, {"kind", text}, {"text", text}, {"time_s", -1.5}}}}};
    for (const std::string& csv : {events_csv(nodes), convergence_csv(nodes)}) {
      const auto records = read_csv(csv);
      REQUIRE(records.size() == 2);
      CHECK(records[1].size() == records[0].size());
      for (const std::string& field : records[1]) {
        const bool is_formula = field.find_first_of("=+-@\t\r\n") == 0;
        CHECK((!is_formula || parse_number(field).has_value()));
      }
    }
    std::istringstream lines(export_jsonl(nodes));
    for (std::string line; std::getline(lines, line);) CHECK(json::accept(line));
  }
  CHECK(csv_text("-1") == "-1");
  CHECK(csv_text("=1") == "'=1");
  CHECK(csv_text("a=1") == "a=1");
}

TEST_CASE("A hostile member adds no line to the metrics") {
  const std::string plain = metrics_text(hostile_snapshot("node"), {});
  for (const std::string& text : kHostile) {
    CAPTURE(text);
    const std::string metrics = metrics_text(hostile_snapshot(text), {});
    CHECK(line_count(metrics) == line_count(plain));
    CHECK(is_utf8(metrics));
    std::istringstream lines(metrics);
    for (std::string line; std::getline(lines, line);)
      CHECK((line.starts_with("# HELP starling_") || line.starts_with("# TYPE starling_") ||
             line.starts_with("starling_")));
  }
}

TEST_CASE("A hostile member draws no vertex of its own") {
  for (const std::string& text : kHostile) {
    CAPTURE(text);
    const auto drawn = [](const std::string& name) {
      const std::vector<topology::Site> sites = {{node_id("a"), "a"}, {node_id("b"), name}};
      return topology::dot(topology::build({.kind = topology::Kind::complete}, sites).value(),
                           sites);
    };
    const std::string dot = drawn(text);
    // Quotes within a name have a backslash before them.
    std::size_t quotes = 0;
    for (std::size_t k = 0; k < dot.size(); ++k) {
      if (dot[k] == '\\')
        ++k;
      else if (dot[k] == '"')
        ++quotes;
    }
    CHECK(quotes == 8);
  }
}
