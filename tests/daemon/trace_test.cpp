// What a node did lately, span by span, and its document of trace events.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "daemon/process/trace_log.h"
#include "daemon/rest/trace_json.h"

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

Time at(int ms) {
  return Time(std::chrono::milliseconds(ms));
}

gossip::Span received(int from, int to, const char* neighbor = "node-2") {
  return {gossip::Span::Kind::receive, at(from), at(to), neighbor, 7, 4000};
}

optim::Done job(int begun, int mixed, int evaluated, int stepped, int encoded) {
  optim::Done done;
  done.round = 7;
  done.stats.laps = {at(begun), at(mixed), at(evaluated), at(stepped), at(encoded)};
  return done;
}

constexpr auto kStarted = std::chrono::system_clock::time_point(1'700'000'000s);

}  // namespace

TEST_CASE("A job is the spans of its parts and a part without time is none") {
  TraceLog log;
  log.add(job(10, 12, 12, 30, 31));
  const auto spans = log.spans();
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].kind == TraceSpan::Kind::mix);
  CHECK(spans[1].kind == TraceSpan::Kind::compute);
  CHECK(spans[1].from == at(12));
  CHECK(spans[1].to == at(30));
  CHECK(spans[1].round == 7);
  CHECK(spans[2].kind == TraceSpan::Kind::encode);
  // A job before there is a model has no laps but the first.
  log.add(job(40, 0, 0, 0, 0));
  CHECK(log.spans().size() == 3);
}

TEST_CASE("The log keeps the newest spans in the order in which they began") {
  TraceLog log;
  for (int k = 0; k < 20'000; ++k) log.add(received(k, k + 5));
  const auto spans = log.spans();
  CHECK(spans.size() == TraceLog::kSpansLimit);
  CHECK(spans.back().from == at(19'999));
  log.add(received(19'000, 20'010));
  CHECK(log.spans().back().from == at(19'999));
  CHECK(log.spans().size() == TraceLog::kSpansLimit);
}

TEST_CASE("A trace is ordered and balanced and names its tracks") {
  TraceLog log;
  log.add(job(10, 12, 14, 30, 31));
  log.add(received(5, 20));
  log.add(received(15, 25));
  log.add(received(15, 40, "node-3"));
  log.add(gossip::Span{gossip::Span::Kind::wait, at(31), at(40), "node-3", 7});
  log.add({.kind = TraceSpan::Kind::send,
           .from = at(31),
           .to = at(32),
           .round = 7,
           .neighbor = "127.0.0.1:7600",
           .bytes = 4000});
  const json trace = trace_json("node-1", log.spans(), kStarted);
  CHECK(trace["displayTimeUnit"] == "ms");
  double last = 0;
  std::map<std::string, int> names;
  std::map<std::uint64_t, int> open;
  std::set<std::string> tracks;
  for (const json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "M") {
      tracks.insert(event["args"]["name"]);
      continue;
    }
    CHECK(event["ts"].get<double>() >= last);
    last = event["ts"];
    if (phase == "X") CHECK(event["dur"].get<double>() > 0);
    if (phase != "e") ++names[event["name"]];
    if (phase == "b") ++open[event["id"].get<std::uint64_t>()];
    if (phase == "e") --open[event["id"].get<std::uint64_t>()];
  }
  CHECK(open.size() == 3);
  for (const auto& [id, count] : open) CHECK(count == 0);
  CHECK(names == std::map<std::string, int>{{"mix", 1},
                                            {"evaluate", 1},
                                            {"compute", 1},
                                            {"encode", 1},
                                            {"send", 1},
                                            {"wait", 1},
                                            {"receive", 3}});
  CHECK(tracks == std::set<std::string>{"node-1", "training thread", "I/O thread", "rounds",
                                        "from node-2", "from node-3"});
  const json& first = *std::ranges::find_if(trace["traceEvents"],
                                            [](const json& event) { return event["ph"] == "b"; });
  CHECK(first["ts"].get<double>() == doctest::Approx(1.7e15 + 5000).epsilon(1e-12));
  CHECK(first["args"]["bytes"] == 4000);
}
