// What the ledger takes a vector for.
#include "sim/ledger.h"

#include <doctest/doctest.h>

#include <memory>
#include <variant>

#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

// A false vector that lies where the memory of an honest one was is not that honest one.
TEST_CASE("A vector of another owner at the same address is another vector") {
  Cluster cluster = reference_cluster(3, 3, {}, topology::Kind::complete);
  Payload honest;
  cluster.world.drivers().intercept([&](sim::Parcel& parcel) {
    Payload& vector = parcel.message.payload;
    if (!std::holds_alternative<gossip::Round>(parcel.message.body) || vector.empty()) return;
    if (parcel.hop.from == 1 && honest.empty()) honest = vector;
    if (parcel.hop.from != 2 || honest.size() != vector.size()) return;
    vector = Payload(std::make_shared<int>(), honest.pieces().front().bytes);
    parcel.from = 0;
  });
  cluster.start_all();
  cluster.world.run_until(Time(2s));
  CHECK(cluster.round(0) > 10);
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
}
