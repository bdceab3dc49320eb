#include "daemon/rest/status_json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/process/version.h"
#include "daemon/rest/spectrum_cache.h"
#include "tests/daemon/snapshot_example.h"
#include "topology/shapes.h"
#include "topology/spectrum.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;
using Names = std::vector<std::string>;

namespace {

topology::Graph ring_of(int n) {
  return topology::undirected_by(n, topology::near_in_ring);
}

// Sorted, as the library keeps them.
Names names_of(const json& object) {
  Names names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

bool holds_null(const json& document) {
  if (document.is_null()) return true;
  if (!document.is_structured()) return false;
  for (const json& part : document)
    if (holds_null(part)) return true;
  return false;
}

}  // namespace

TEST_CASE("The status has the names of the interface") {
  const json status = status_json(example_snapshot(), 1.0 / 3, 0.25);
  CHECK(names_of(status) == Names{"checkpoint", "consensus", "cores", "descriptors", "members",
                                  "node", "rejected", "rejected_messages", "run", "security",
                                  "summary", "time", "topology", "traffic"});
  CHECK(names_of(status["cores"]) == Names{"overheated", "throttled", "usable"});
  CHECK(names_of(status["descriptors"]) == Names{"allowed", "used"});
  CHECK(names_of(status["node"]) ==
        Names{"id", "incarnation", "name", "reasons", "state", "uptime_s", "version", "warnings"});
  CHECK(names_of(status["run"]) == Names{"algorithm", "codec", "distance_to_optimum", "done",
                                         "eval", "learning_rate", "local_steps", "loss", "privacy",
                                         "progress", "round", "samples", "schedule", "shard",
                                         "steps", "uncounted_rounds"});
  CHECK(names_of(status["run"]["eval"]) ==
        Names{"accuracy", "available", "loss", "rmse", "round", "samples"});
  CHECK(names_of(status["run"]["codec"]) ==
        Names{"f32_bytes", "memory_bytes", "name", "quality", "vector_bytes"});
  CHECK(names_of(status["run"]["privacy"]) == Names{"delta", "epsilon", "steps"});
  CHECK(names_of(status["run"]["shard"]) == Names{"description", "samples"});
  CHECK(names_of(status["consensus"]) == Names{"abandoned_edges", "distance",
                                               "expected_mixing_rate", "late_edges", "mixing_rate",
                                               "neighbor_distance", "unsettled_edges"});
  CHECK(names_of(status["topology"]) == Names{"degree", "epoch", "kind", "spectral_gap"});
  CHECK(names_of(status["members"]) == Names{"alive", "dead", "left", "suspect"});
  CHECK(names_of(status["traffic"]) ==
        Names{"received_bytes", "sent_bytes", "sent_bytes_per_s", "sent_peak_bytes_per_s"});
  CHECK(names_of(status["time"]) ==
        Names{"compute_s", "evaluate_s", "mix_s", "network_wait_s", "other_s", "wait_s"});
}

TEST_CASE("The status has the values of the snapshot") {
  const json status = status_json(example_snapshot(), 1.0 / 3, 0.25);
  CHECK(status["node"]["id"] == to_string(node_id("node-0")));
  CHECK(status["node"]["state"] == "training");
  CHECK(status["node"]["uptime_s"] == 60.0);
  CHECK(status["run"]["eval"]["accuracy"] == 0.9);
  CHECK(status["run"]["codec"] == json{{"name", "i4"},
                                       {"vector_bytes", 516},
                                       {"f32_bytes", 4000},
                                       {"quality", 0.97},
                                       {"memory_bytes", 16'516}});
  CHECK(status["members"] == json{{"alive", 2}, {"suspect", 1}, {"dead", 1}, {"left", 0}});
  CHECK(status["topology"]["degree"] == 2);
  CHECK(status["topology"]["spectral_gap"].get<double>() == doctest::Approx(2.0 / 3));
  CHECK(status["consensus"]["mixing_rate"] == 0.4);
  CHECK(status["consensus"]["expected_mixing_rate"] == 0.25);
  CHECK(status["rejected"] == json{{"wrong cluster", 1}});
  gossip::Status refused;
  refused.rejected = {{"repeated", 3}};
  refused.rejected_kinds = {{"repeated", {{"hello", 2}, {"vector", 1}}}};
  Snapshot seen = example_snapshot();
  seen.status = refused;
  const json about = status_json(seen, std::nullopt)["rejected_messages"]["repeated"];
  CHECK(about["messages"] == json{{"hello", 2}, {"vector", 1}});
  CHECK(about["meaning"].get<std::string>().starts_with("normal: "));
}

TEST_CASE("A node that has not begun leaves out what it does not know") {
  const json status = status_json(Snapshot{}, std::nullopt);
  CHECK(names_of(status["run"]) == Names{"algorithm", "codec", "round", "samples", "schedule",
                                         "shard", "steps", "uncounted_rounds"});
  CHECK(names_of(status["run"]["codec"]) == Names{"memory_bytes", "name", "quality"});
  CHECK(status["consensus"] ==
        json{{"abandoned_edges", 0}, {"late_edges", 0}, {"unsettled_edges", 0}});
  CHECK(names_of(status["topology"]) == Names{"epoch", "kind"});
  CHECK(status["rejected"] == json::object());
  CHECK_FALSE(holds_null(status));
}

TEST_CASE("Numbers that are not finite are left out") {
  Snapshot snapshot = example_snapshot();
  snapshot.status.run.loss = std::numeric_limits<double>::quiet_NaN();
  snapshot.status.consensus_distance = std::numeric_limits<double>::infinity();
  snapshot.status.members[1].member.change(
      [](auto& member) { member.loss = -std::numeric_limits<double>::infinity(); });
  const json status = status_json(snapshot, std::nullopt);
  CHECK_FALSE(status["run"].contains("loss"));
  CHECK_FALSE(status["consensus"].contains("distance"));
  const json members = members_json(snapshot);
  CHECK(members["members"][0].contains("loss"));
  CHECK_FALSE(members["members"][1].contains("loss"));
  gossip::Progress point = example_point(1);
  point.loss = std::nan("");
  const json convergence = convergence_json(std::vector{point});
  CHECK_FALSE(convergence["series"][0].contains("loss"));
}

TEST_CASE("Every member has the names of the interface") {
  const json members = members_json(example_snapshot())["members"];
  REQUIRE(members.size() == 4);
  for (json member : members) {
    CHECK((member["name"] == "node-1") == (member.erase("behind") == 1));
    CHECK(names_of(member) == Names{"control", "http", "id", "incarnation", "last_heard_s", "loss",
                                    "name", "phase", "round", "round_age_s", "state", "told_s"});
  }
  CHECK(members[0]["last_heard_s"] == 0.0);
  CHECK(members[2]["last_heard_s"] == 10.0);
  CHECK(members[2]["state"] == "suspect");
  CHECK(members[3]["control"] == "10.0.0.1:7600");
}

TEST_CASE("A member's round is the newest that is known and says how old it is") {
  Snapshot snapshot = example_snapshot();
  const auto seconds_of = [](int count) { return Time(std::chrono::seconds(count)); };
  for (auto& member : snapshot.status.members) member.told = seconds_of(20);
  snapshot.status.edges[0].round = 90;
  snapshot.status.edges[0].staleness = 1;
  snapshot.status.edges[0].heard = seconds_of(59);
  const json members = members_json(snapshot)["members"];
  CHECK(members[0]["round"] == 42);  // its record says 41
  CHECK(members[0]["loss"] == 0.25);
  CHECK(members[0]["round_age_s"] == 0);
  CHECK(members[1]["round"] == 89);
  CHECK(members[1]["round_age_s"] == 1);
  CHECK(members[1]["told_s"] == 40);
  CHECK(members[1]["behind"] == 1);
  CHECK(members[2]["round"] == 41);
  CHECK(members[2]["round_age_s"] == 40);
  CHECK_FALSE(members[2].contains("behind"));
  snapshot.status.edges[0].round = 41;  // older than the record
  CHECK(members_json(snapshot)["members"][1]["round_age_s"] == 40);
}

TEST_CASE("A member whose rounds wait says for whom") {
  Snapshot snapshot = example_snapshot();
  snapshot.status.members[0].member.change([](auto& member) {
    member.held = {node_id("node-2"), 84};
  });
  snapshot.status.members[1].member.change([](auto& member) {
    member.held = {node_id("nobody"), 84};
  });
  const json members = members_json(snapshot)["members"];
  CHECK(members[0]["waits_for"] == "node-2");
  CHECK(members[0]["waiting"] == 0.84);
  CHECK_FALSE(members[1].contains("waits_for"));
  CHECK_FALSE(members[2].contains("waits_for"));
}

TEST_CASE("Every edge has the names of the interface") {
  const json neighbors = neighbors_json(example_snapshot())["neighbors"];
  REQUIRE(neighbors.size() == 1);
  CHECK(neighbors[0]["codec_quality"] == 0.96);
  CHECK(names_of(neighbors[0]) ==
        Names{"codec_quality", "distance", "id", "name", "patience_s", "queued_bytes",
              "receive_bytes_per_s", "received_bytes", "rejected", "repeated_bytes", "round",
              "rtt_s", "send_bytes_per_s", "sent_bytes", "staleness", "state", "weight"});
  CHECK(neighbors[0]["rejected"] == json{{"stale", 2}});
}

TEST_CASE("The topology has nodes and weighted edges") {
  const topology::Graph ring = ring_of(4);
  const json topology = topology_json(example_snapshot(), &ring, 1.0 / 3);
  CHECK(names_of(topology) == Names{"connected", "directed", "edges", "nodes", "spectral_gap"});
  CHECK(topology["nodes"][1] == json{{"id", to_string(node_id("node-1"))}, {"name", "node-1"}});
  REQUIRE(topology["edges"].size() == 4);
  CHECK(topology["edges"][1]["from"] == "node-0");
  CHECK(topology["edges"][1]["to"] == "node-3");
  CHECK(topology["edges"][1]["weight"].get<double>() == doctest::Approx(1.0 / 3));
  CHECK(topology["connected"] == true);
  CHECK(topology_dot(example_snapshot(), &ring).find("\"node-0\" -- \"node-3\"") !=
        std::string::npos);
}

TEST_CASE("The topology says what nodes that nobody can dial change") {
  Snapshot snapshot = example_snapshot();
  auto sites = *snapshot.status.topology.sites;
  REQUIRE(sites.size() == 4);
  sites[2].is_hidden = sites[3].is_hidden = true;
  topology::Options ring;
  ring.kind = topology::Kind::ring;
  snapshot.status.topology.sites = std::make_shared<const std::vector<topology::Site>>(sites);
  snapshot.status.topology.options = std::make_shared<const topology::Options>(ring);
  const auto graph = snapshot.status.topology.graph();
  const json topology = topology_json(snapshot, graph.get(), std::nullopt);
  CHECK(topology["replaced"] == json{{{"from", "node-2"}, {"to", "node-3"}}});
  CHECK(std::ranges::count_if(topology["edges"],
                              [](const json& edge) { return edge.contains("detour"); }) == 2);
}

TEST_CASE("A topology that is not known yet has no edges") {
  CHECK(names_of(topology_json(Snapshot{}, nullptr, std::nullopt)) == Names{"edges", "nodes"});
  CHECK(topology_dot(Snapshot{}, nullptr) == "graph starling {\n}\n");
}

TEST_CASE("Before the first round nothing is shown that nobody measured") {
  Snapshot snapshot = example_snapshot();
  snapshot.status.run.round = 0;
  snapshot.status.members[1].member.change([](auto& member) { member.round = 0; });
  const json status = status_json(snapshot, 0.5);
  CHECK_FALSE(status["consensus"].contains("distance"));
  CHECK_FALSE(status["consensus"].contains("neighbor_distance"));
  CHECK_FALSE(members_json(snapshot)["members"][1].contains("loss"));
}

TEST_CASE("Every point of the series has the names of the interface") {
  const json series = convergence_json(std::vector{example_point(7)})["series"];
  CHECK(names_of(series[0]) == Names{"accuracy", "bytes", "distance", "distance_to_optimum",
                                     "held_out_loss", "loss", "rmse", "round", "time_s"});
  CHECK(series[0]["bytes"] == 700);
}

TEST_CASE("A name that is no text becomes text") {
  Snapshot snapshot = example_snapshot();
  snapshot.identity.name = "bad\xff name";
  CHECK(json::accept(to_text(status_json(snapshot, std::nullopt))));
}

TEST_CASE("The spectrum is that of the graph at hand") {
  SpectrumCache cache;
  const auto ring = std::make_shared<const topology::Graph>(ring_of(6));
  const auto path =
      std::make_shared<const topology::Graph>(topology::undirected_by(6, topology::near_in_path));
  CHECK(cache.second_modulus(ring) == topology::second_modulus(*ring));
  CHECK(cache.second_modulus(path) == topology::second_modulus(*path));
  CHECK(cache.second_modulus(path) == topology::second_modulus(*path));
  CHECK_FALSE(cache.second_modulus(nullptr).has_value());
  const auto large =
      std::make_shared<const topology::Graph>(ring_of(SpectrumCache::kVerticesLimit + 1));
  CHECK_FALSE(cache.second_modulus(large).has_value());
}

TEST_CASE("The expected mixing rate is that of the rounds of the run") {
  const auto rate = [](SpectrumCache::Rounds rounds, const topology::Graph& graph,
                       const topology::Sequence* sequence = nullptr) {
    return SpectrumCache(rounds).mixing_rate(std::make_shared<const topology::Graph>(graph),
                                             sequence);
  };
  const topology::Graph ring = ring_of(6),
                        complete = topology::undirected_by(6, topology::near_in_complete);
  CHECK(rate({}, ring) == topology::second_modulus(ring));
  // All eigenvalues of this ring but one are at least 0, and that one is -1/3.
  CHECK(*rate({.share = 0.5}, ring) ==
        doctest::Approx((1 + topology::second_modulus(ring)) / 2).epsilon(1e-9));
  CHECK(*rate({.share = 0.5}, complete) == doctest::Approx(0.5));
  for (const topology::SequenceRow& row : topology::sequences()) {
    if (!row.make) continue;
    const topology::Options options{.sequence = {&row, row.least}};
    const std::vector<topology::Site> sites(6);
    const auto sequence = row.make(options, sites, complete);
    CHECK(rate({.share = 0.5}, complete, sequence.get()) == sequence->modulus(0.5));
  }
  CHECK_FALSE(rate({.are_free = true}, complete).has_value());
}

TEST_CASE("The version is that of the project") {
  std::ifstream stream(STARLING_ROOT "/CMakeLists.txt");
  std::stringstream text;
  text << stream.rdbuf();
  CHECK(text.str().find(fmt::format("VERSION {} ", kVersion)) != std::string::npos);
}

TEST_CASE("A member that nobody can dial says so and has no address") {
  Snapshot snapshot = example_snapshot();
  snapshot.status.members[1].member.change([](auto& member) { member.control = {"hidden-1", 0}; });
  const json members = members_json(snapshot)["members"];
  CHECK(members[1]["hidden"] == true);
  CHECK_FALSE(members[1].contains("control"));
  CHECK_FALSE(members[0].contains("hidden"));
}

TEST_CASE("A member that other machines cannot ask by HTTP has no address for it") {
  Snapshot snapshot = example_snapshot();
  for (auto& status : snapshot.status.members)
    status.member.change([](auto& member) { member.http.port = 0; });
  const json members = members_json(snapshot)["members"];
  CHECK(members[0]["http"] == "10.0.0.1:7680");  // that of the node itself
  for (std::size_t k = 1; k < members.size(); ++k) CHECK_FALSE(members[k].contains("http"));
}

TEST_CASE("The status names what is at fault with the result of the node") {
  Snapshot snapshot = example_snapshot();
  CHECK_FALSE(status_json(snapshot, {})["run"].contains("fault"));
  snapshot.status.alone = "no edge opens to node-1";
  CHECK(status_json(snapshot, {})["run"]["fault"] ==
        "it has averaged with no other node: no edge opens to node-1");
  snapshot.trainer.emplace().crashes = "its trainer ended";
  CHECK(status_json(snapshot, {})["run"]["fault"] == "its trainer ended");
}
