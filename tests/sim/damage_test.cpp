// Frames that are damaged on the way: what a checksum finds is refused, and from what none can find
// all recover.
#include "sim/damage.h"

#include <doctest/doctest.h>

#include "gossip/wire/wire.h"
#include "tests/sim/cluster.h"
#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;

namespace {

gossip::Frame frame_of(double span) {
  gossip::Round round;
  round.epoch = 5;
  round.round = 7;
  round.span = span;
  return {gossip::encode_header({1, NodeId{2}, 3, 4}, round, {}), {}};
}

}  // namespace

TEST_CASE("A flipped byte of a header is always refused") {
  sim::Damage damage(1);
  damage.options().corrupt = 1;
  for (int k = 0; k < 2000; ++k) {
    gossip::Frame frame = frame_of(k);
    CHECK(damage.meet(frame) == sim::Damage::Done::corrupted);
    CHECK_FALSE(gossip::decode_header(std::as_bytes(std::span(frame.header))));
  }
  CHECK(damage.counts().corrupted == 2000);
}

TEST_CASE("A forged header passes the checksum and differs in one field") {
  sim::Damage damage(1);
  damage.options().forge = 1;
  const gossip::Frame sound = frame_of(1);
  int read = 0, changed = 0;
  for (int k = 0; k < 500; ++k) {
    gossip::Frame frame = sound;
    CHECK(damage.meet(frame) == sim::Damage::Done::forged);
    changed += frame.header != sound.header;
    const auto header = gossip::decode_header(std::as_bytes(std::span(frame.header)));
    if (!header) CHECK(header.error().text == "malformed");  // beyond its limit
    read += header.has_value();
  }
  CHECK(read > 300);
  CHECK(changed > 490);  // a few numbers become what they were
}

TEST_CASE("All laws hold where a third of all frames is damaged") {
  const auto scenario = sim::parse_scenario(
      "seed 5\nnodes 8\nchaos 60 s\nat 5 s: corrupt 0.3 for 50 s\n"
      "at 20 s: duplicate 0.3 for 20 s\n");
  REQUIRE(scenario);
  const sim::Verdict verdict = sim::try_scenario(quick_trial(), quick_trainers(), *scenario);
  for (const sim::Violation& violation : verdict.violations)
    FAIL_CHECK(sim::to_text(violation, scenario->seed));
  CHECK(verdict.counts.corrupted > 1000);
}

TEST_CASE("Nodes that heard wrong fields agree and come together") {
  const auto scenario =
      sim::parse_scenario("seed 5\nnodes 8\nchaos 60 s\nat 5 s: forge 0.01 for 50 s\n");
  REQUIRE(scenario);
  const sim::Verdict verdict = sim::try_scenario(quick_trial(), quick_trainers(), *scenario);
  for (const sim::Violation& violation : verdict.violations)
    FAIL_CHECK(sim::to_text(violation, scenario->seed));
  CHECK(verdict.counts.forged > 10);
}
