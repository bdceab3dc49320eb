#include "daemon/rest/metrics_text.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using gossip::Quantity;

namespace {

// The text format, as its specification says: a line of HELP and one of TYPE, then the samples of
// that family, all together.
struct Family {
  std::string help, type;
  std::map<std::string, double> samples;  // by what stands between the braces
};

void read_comment(const std::string& line, std::map<std::string, Family>& families,
                  std::string& current) {
  const std::size_t end = line.find(' ', 7);
  REQUIRE(end != std::string::npos);
  current = line.substr(7, end - 7);
  Family& family = families[current];
  CHECK(family.samples.empty());  // a family is whole
  std::string& field = line.starts_with("# HELP ") ? family.help : family.type;
  CHECK(field.empty());
  field = line.substr(end + 1);
}

std::map<std::string, Family> parsed(const std::string& text) {
  std::map<std::string, Family> families;
  std::string current;
  for (const std::string& line : split(text, '\n')) {
    CAPTURE(line);
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
      read_comment(line, families, current);
      continue;
    }
    const std::size_t value = line.rfind(' '), brace = line.find('{');
    const std::string name = line.substr(0, std::min(brace, value));
    CHECK(name == current);
    const std::string labels =
        brace == std::string::npos ? "" : line.substr(brace + 1, line.rfind('}') - brace - 1);
    const auto number = parse_number(line.substr(value + 1));
    REQUIRE(number);  // finite
    CHECK(families[name].samples.emplace(labels, *number).second);
  }
  return families;
}

gossip::EdgeStatus example_edge(const std::string& name, double rtt_s) {
  gossip::EdgeStatus edge;
  edge.id = node_id(name);
  edge.name = name;
  edge.state = gossip::EdgeState::active;
  edge.rtt_s = rtt_s;
  edge.sent_bytes = 10;
  edge.rejected = {{"size", 1}};
  return edge;
}

Snapshot full_snapshot() {
  Snapshot snapshot = example_snapshot();
  snapshot.status.run.end.remaining_s = 90;
  gossip::FleetStatus& fleet = snapshot.status.fleet;
  for (auto& spread : fleet.spreads)
    spread = gossip::Spread{.mean = 2, .error = 0.1, .least = 1, .most = 3};
  fleet.distance = 0.05;
  fleet.distance_error = 0.01;
  fleet.model_share = 1;
  fleet.extremes_age = std::chrono::seconds(4);
  snapshot.security.certificate = gossip::Certificate{.name = "node-0", .not_after = 4000};
  snapshot.security.refused = {{"expired", 2}};
  return snapshot;
}

}  // namespace

TEST_CASE("Every family has its help and its type and a name that tells its kind") {
  const auto families = parsed(metrics_text(full_snapshot(), {}));
  CHECK(families.size() > 45);
  for (const auto& [name, family] : families) {
    CAPTURE(name);
    CHECK(name.starts_with("starling_"));
    CHECK(family.help.size() > 20);
    CHECK(family.help.ends_with('.'));
    CHECK(family.help.find('\\') == std::string::npos);
    CHECK((family.type == "counter" || family.type == "gauge"));
    CHECK((family.type == "counter") == name.ends_with("_total"));
    CHECK_FALSE(family.samples.empty());
  }
}

TEST_CASE("Values are told in base units") {
  EventCounts events{};
  events[static_cast<std::size_t>(gossip::Event::Kind::died)] = 2;
  auto families = parsed(metrics_text(full_snapshot(), events));
  CHECK(families["starling_build_info"].samples.at("version=\"0.1.0\"") == 1);
  CHECK(families["starling_round"].samples.at("") == 42);
  CHECK(families["starling_samples_total"].samples.at("") == 1344);
  CHECK(families["starling_loss"].samples.at("") == 0.25);
  CHECK(families["starling_eval_accuracy_ratio"].samples.at("") == 0.9);
  CHECK(families["starling_consensus_distance_ratio"].samples.at("") == 0.02);
  CHECK(families["starling_goal_remaining_seconds"].samples.at("") == 90);
  CHECK(families["starling_uptime_seconds"].samples.at("") == 60);
  CHECK(families["starling_sent_bytes_total"].samples.at("") == 4000);
  CHECK(families["starling_time_seconds_total"].samples.at("activity=\"wait\"") == 3);
  CHECK(families["starling_state"].samples.at("state=\"training\"") == 1);
  CHECK(families["starling_state"].samples.at("state=\"degraded\"") == 0);
  CHECK(families["starling_members"].samples.at("state=\"alive\"") == 2);
  CHECK(families["starling_members"].samples.at("state=\"dead\"") == 1);
  CHECK(families["starling_edges"].samples.at("state=\"active\"") == 1);
  CHECK(families["starling_events_total"].samples.at("kind=\"died\"") == 2);
  CHECK(families["starling_events_total"].samples.at("kind=\"problem\"") == 0);
  CHECK(families["starling_rejected_messages_total"].samples.at("reason=\"wrong cluster\"") == 1);
  const std::string neighbor = "neighbor=\"node-1\"";
  CHECK(families["starling_neighbor_round_trip_seconds"].samples.at(neighbor) == 0.001);
  CHECK(families["starling_neighbor_received_bytes_total"].samples.at(neighbor) == 2000);
  CHECK(families["starling_neighbor_rejected_vectors_total"].samples.at(neighbor +
                                                                        ",reason=\"stale\"") == 2);
  CHECK(families["starling_codec_quality_ratio"].samples.at("") == 0.97);
  CHECK(families["starling_codec_memory_bytes"].samples.at("") == 16'516);
  CHECK(families["starling_vector_bytes"].samples.at("") == 516);
  CHECK(families["starling_neighbor_codec_quality_ratio"].samples.at(neighbor) == 0.96);
  CHECK(families["starling_fleet_loss"].samples ==
        std::map<std::string, double>{{"estimate=\"mean\"", 2},
                                      {"estimate=\"least\"", 1},
                                      {"estimate=\"most\"", 3},
                                      {"estimate=\"error\"", 0.1}});
  CHECK(families["starling_fleet_extremes_age_seconds"].samples.at("") == 4);
  CHECK(families["starling_certificate_end_seconds"].samples.at("") == 4000);
  CHECK(families["starling_refused_connections_total"].samples.at("reason=\"expired\"") == 2);
}

TEST_CASE("A node is in one state at a time and every state has its series") {
  Snapshot snapshot = full_snapshot();
  for (int k = 0; k <= static_cast<int>(gossip::State::finished); ++k) {
    snapshot.status.state = static_cast<gossip::State>(k);
    const auto families = parsed(metrics_text(snapshot, {}));
    const auto& samples = families.at("starling_state").samples;
    CHECK(samples.size() == static_cast<std::size_t>(gossip::State::finished) + 1);
    for (const auto& [label, value] : samples)
      CHECK((value == 1) == label.ends_with(fmt::format("\"{}\"", name(snapshot.status.state))));
  }
}

TEST_CASE("What is not known is absent from the metrics and never a zero") {
  Snapshot snapshot;
  const auto before = parsed(metrics_text(snapshot, {}));
  for (const char* name : {"starling_loss", "starling_learning_rate", "starling_eval_loss",
                           "starling_eval_accuracy_ratio", "starling_consensus_distance_ratio",
                           "starling_neighbor_distance_max", "starling_goal_remaining_seconds",
                           "starling_distance_to_optimum", "starling_neighbor_round_trip_seconds",
                           "starling_rejected_messages_total", "starling_fleet_loss",
                           "starling_certificate_end_seconds", "starling_refused_connections_total",
                           "starling_fleet_extremes_age_seconds", "starling_fleet_degraded_ratio",
                           "starling_vector_bytes"}) {
    CAPTURE(name);
    CHECK_FALSE(before.contains(name));
  }
  CHECK(before.at("starling_round").samples.at("") == 0);
  snapshot = full_snapshot();
  snapshot.status.run.loss = std::numeric_limits<double>::quiet_NaN();
  snapshot.status.run.evaluation->loss = std::numeric_limits<double>::infinity();
  snapshot.status.edges.front().rtt_s = std::nullopt;
  snapshot.status.fleet.spreads[static_cast<std::size_t>(Quantity::accuracy)] = std::nullopt;
  const auto after = parsed(metrics_text(snapshot, {}));
  CHECK_FALSE(after.contains("starling_loss"));
  CHECK_FALSE(after.contains("starling_eval_loss"));
  CHECK_FALSE(after.contains("starling_neighbor_round_trip_seconds"));
  CHECK_FALSE(after.contains("starling_fleet_accuracy_ratio"));
  CHECK(after.contains("starling_eval_accuracy_ratio"));
}

TEST_CASE("Three hundred neighbours have as many series as the limit allows") {
  Snapshot snapshot = full_snapshot();
  snapshot.status.edges.clear();
  for (int i = 0; i < 300; ++i) {
    snapshot.status.edges.push_back(example_edge(fmt::format("node-{:03}", i), 0.001 * i));
    snapshot.status.edges.back().codec_quality = 1 - 0.001 * i;
  }
  const auto families = parsed(metrics_text(snapshot, {}));
  std::set<std::string> names;
  for (const auto& [name, family] : families) {
    if (!name.starts_with("starling_neighbor_")) continue;
    CAPTURE(name);
    const bool is_counter = family.type == "counter";
    CHECK(family.samples.size() <= kNeighborSeriesLimit + (is_counter ? 0 : 1));
    for (const auto& [labels, value] : family.samples)
      names.insert(labels.substr(0, labels.find(',')));
  }
  CHECK(names.size() == kNeighborSeriesLimit + 2);  // and none, and the others
  const auto& times = families.at("starling_neighbor_round_trip_seconds").samples;
  CHECK(times.at("neighbor=\"node-063\"") == doctest::Approx(0.063));
  CHECK(times.at("neighbor=\"other\"") == doctest::Approx(0.299));
  const auto& qualities = families.at("starling_neighbor_codec_quality_ratio").samples;
  CHECK(qualities.at("neighbor=\"other\"") == doctest::Approx(0.701));
  CHECK(families.at("starling_edges").samples.at("state=\"active\"") == 300);
  const auto& sent = families.at("starling_neighbor_sent_bytes_total").samples;
  CHECK(sent.size() == kNeighborSeriesLimit);
  CHECK_FALSE(sent.contains("neighbor=\"other\""));
}

TEST_CASE("Names that came over the network cannot spoil the metrics") {
  Snapshot snapshot = full_snapshot();
  snapshot.status.edges = {example_edge("a\"b\\c\nd", 0.1), example_edge("\xff\xfe", 0.2),
                           example_edge("\xfe\xff", 0.3),   example_edge("other", 0.4),
                           example_edge("twin", 0.5),       example_edge("twin", 0.6)};
  const auto families = parsed(metrics_text(snapshot, {}));
  const auto& times = families.at("starling_neighbor_round_trip_seconds").samples;
  CHECK(times == std::map<std::string, double>{{"neighbor=\"a\\\"b\\\\c\\nd\"", 0.1},
                                               {"neighbor=\"\xef\xbf\xbd\xef\xbf\xbd\"", 0.2},
                                               {"neighbor=\"twin\"", 0.5},
                                               {"neighbor=\"other\"", 0.6}});
}
