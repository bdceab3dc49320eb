#include "daemon/rest/fleet_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/utc.h"
#include "tests/daemon/snapshot_example.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::daemon;
using gossip::Quantity;

namespace {

gossip::Spread& spread(Snapshot& snapshot, Quantity quantity) {
  return snapshot.status.fleet.spreads[static_cast<std::size_t>(quantity)].emplace();
}

}  // namespace

TEST_CASE("The fleet is told by counts and means and extremes and totals") {
  Snapshot snapshot = example_snapshot();
  for (auto& status : snapshot.status.members)
    status.member.change([](auto& member) { member.phase = gossip::Phase::training; });
  spread(snapshot, Quantity::loss) = {
      .mean = 0.5, .error = 0.01, .least = 0.25, .most = 0.75, .mean_then = 0.6};
  spread(snapshot, Quantity::sample_rate) = {.mean = 100, .error = 1};
  snapshot.status.fleet.distance = 0.02;
  snapshot.status.fleet.distance_error = 0.001;
  snapshot.status.fleet.degraded_share = 0.34;
  const nlohmann::json fleet = fleet_json(snapshot);
  CHECK(fleet["nodes"] == 3);  // the fourth is dead
  CHECK(fleet["training"] == 3);
  CHECK(fleet["degraded"] == 1);
  CHECK(fleet["loss"] ==
        nlohmann::json{
            {"mean", 0.5}, {"error", 0.01}, {"min", 0.25}, {"max", 0.75}, {"mean_then", 0.6}});
  CHECK(fleet["samples_per_s"]["total"] == 300);
  CHECK_FALSE(fleet["samples_per_s"].contains("min"));
  CHECK(fleet["accuracy"].is_null());
  CHECK(fleet["consensus_distance"]["value"] == 0.02);
  CHECK(fleet["summary"].get<std::string>().find("3 nodes train") != std::string::npos);
}

TEST_CASE("What is not known or no number is null") {
  Snapshot snapshot = example_snapshot();
  spread(snapshot, Quantity::loss) = {.mean = std::numeric_limits<double>::quiet_NaN()};
  const nlohmann::json fleet = fleet_json(snapshot);
  CHECK(fleet["loss"].is_null());
  CHECK(fleet["consensus_distance"].is_null());
  CHECK(fleet["hold_up"].is_null());
  CHECK(fleet["certificates"].is_null());
}

TEST_CASE("The fleet has the node that holds up the others") {
  Snapshot snapshot = example_snapshot();
  snapshot.status.hold_up = {node_id("node-2"), "node-2", 84};
  CHECK(fleet_json(snapshot)["hold_up"] ==
        nlohmann::json{{"id", to_string(node_id("node-2"))}, {"name", "node-2"}, {"share", 0.84}});
}

TEST_CASE("The fleet has the certificate that ends first of the nodes that are there") {
  Snapshot snapshot = example_snapshot();
  for (std::uint64_t k : {0, 1, 3}) {  // node-3 is dead
    auto draft =
        test::certificate_draft(snapshot.status.members[k].member->name, test::test_key(2));
    draft.not_after -= k;
    const auto certificate = sign_certificate(std::move(draft), test::test_key(1));
    REQUIRE(certificate);
    snapshot.status.members[k].member.change(
        [&](auto& member) { member.certificate = encode(*certificate); });
  }
  CHECK(fleet_json(snapshot)["certificates"] ==
        nlohmann::json{
            {"nodes", 2}, {"first", "node-1"}, {"until", utc_text(test::kToday + test::kDay - 1)}});
}
