#include "gossip/edges/scheduler.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;
using namespace std::chrono_literals;

namespace {

constexpr Duration kPatience = 8s;

std::unique_ptr<Scheduler> scheduler_of(std::string_view schedule, double quorum = 1,
                                        bool counts_flows = false) {
  Options options = party_options(0);
  options.schedule = schedule_named(schedule);
  options.quorum = quorum;
  options.staleness = 3;
  if (counts_flows) options.needs.pairing = optim::Pairing::exactly_once;
  return options.schedule->make(options);
}

std::unique_ptr<Scheduler> rounds_over(std::string_view sequence) {
  Options options = party_options(0);
  options.topology.sequence = *topology::parse_sequence(sequence);
  return options.schedule->make(options);
}

// An edge whose peer was heard in that round, at 1 s.
EdgeView edge(std::uint64_t peer, std::uint64_t round) {
  return {.peer = NodeId{peer},
          .in = true,
          .out = true,
          .was_offered = true,
          .round = round,
          .heard = Time(1s),
          .patience = kPatience};
}

const CurrentRound kCurrent{.round = 10, .since = Time(2s)};

}  // namespace

TEST_CASE("A round waits for every neighbour and for none longer than its patience") {
  const auto rounds = scheduler_of("rounds");
  std::vector<EdgeView> edges = {edge(1, 10), edge(2, 9)};
  CHECK_FALSE(rounds->may_finish(Time(3s), kCurrent, edges));
  CHECK(rounds->deadline(kCurrent, edges) == Time(2s) + kPatience);
  CHECK_FALSE(rounds->may_finish(Time(2s) + kPatience - 1ns, kCurrent, edges));
  CHECK(rounds->may_finish(Time(2s) + kPatience, kCurrent, edges));
  edges[1].is_late = true;
  CHECK(rounds->may_finish(Time(3s), kCurrent, edges));
  CHECK(rounds->deadline(kCurrent, edges) == kNever);
  edges[1] = edge(2, 10);
  CHECK(rounds->may_finish(Time(3s), kCurrent, edges));
  edges[1].pairs.has_gap = true;
  CHECK_FALSE(rounds->may_finish(Time(3s), kCurrent, edges));
}

TEST_CASE("A quorum counts the neighbours that got an offer and have sent theirs") {
  const auto half = scheduler_of("rounds", 0.5);
  std::vector<EdgeView> edges = {edge(1, 9), edge(2, 9), edge(3, 10)};
  CHECK_FALSE(half->may_finish(Time(3s), kCurrent, edges));
  edges[0].was_offered = false;
  CHECK(half->may_finish(Time(3s), kCurrent, edges));
  CHECK(half->rules().joins_furthest);
}

TEST_CASE("A round of ssp takes vectors that are at most so many rounds old") {
  const auto ssp = scheduler_of("ssp");
  CHECK_FALSE(ssp->lacks(edge(1, 7), 10));
  CHECK(ssp->lacks(edge(1, 6), 10));
  CHECK(ssp->lacks(edge(1, 0), 1));
}

TEST_CASE("A round of async waits for news of any one neighbour") {
  const auto async = scheduler_of("async");
  std::vector<EdgeView> edges = {edge(1, 3), edge(2, 90)};
  CHECK_FALSE(async->may_finish(Time(3s), kCurrent, edges));
  edges[0].has_news = true;
  CHECK(async->may_finish(Time(3s), kCurrent, edges));
  CHECK(async->next_round({.round = 10}, 90) == 11);
}

TEST_CASE("A node that is out of step jumps to the round of the furthest neighbour") {
  const auto rounds = scheduler_of("rounds"), ssp = scheduler_of("ssp");
  for (const std::uint64_t ahead : {8, 9})
    CHECK(rounds->next_round({.round = 10}, 10 + ahead) == (ahead == 9 ? 19 : 11));
  CHECK(ssp->next_round({.round = 10}, 21) == 11);  // three of staleness more
  // Where a node takes part in one of five rounds.
  CHECK(rounds->next_round({.round = 10, .rounds_a_turn = 5}, 50) == 11);
  CHECK(rounds->next_round({.round = 10, .rounds_a_turn = 5}, 51) == 51);
}

TEST_CASE("A node that is far ahead of all waits for longer than its patience") {
  const auto rounds = scheduler_of("rounds");
  std::vector<EdgeView> edges = {edge(1, 1)};
  edges[0].is_late = true;
  CHECK(rounds->is_far_ahead(kCurrent, edges));
  CHECK(rounds->deadline(kCurrent, edges) == Time(2s) + 60s);
  edges[0].rests = true;
  CHECK_FALSE(rounds->is_far_ahead(kCurrent, edges));
  edges[0] = edge(1, 2);
  CHECK_FALSE(rounds->is_far_ahead(kCurrent, edges));
}

TEST_CASE("A share is one over the degree plus one or half of that if averaged late") {
  const auto rounds = scheduler_of("rounds"), ssp = scheduler_of("ssp");
  const auto pairwise = scheduler_of("pairwise");
  for (const std::size_t degree : {1, 2, 7}) {
    CHECK(rounds->share({}, degree) == 1.0 / (1.0 + static_cast<double>(degree)));
    CHECK(ssp->share({}, degree) == rounds->share({}, degree) / 2);
    CHECK(pairwise->share({}, degree) == 0.5);
  }
}

TEST_CASE("A node whose vectors are ahead of the peer's skips the round") {
  const auto rounds = scheduler_of("rounds"), ssp = scheduler_of("ssp");
  EdgeView peer = edge(1, 12);
  CHECK(rounds->skips_round(peer, 11));
  CHECK_FALSE(rounds->skips_round(peer, 12));
  peer.pairs.next_round = 13;
  CHECK(rounds->skips_round(peer, 12));
  CHECK_FALSE(ssp->skips_round(peer, 11));
  peer.pairs.is_waiting = true;
  CHECK(ssp->skips_round(peer, 11));
}

TEST_CASE("A round of turns is that of rounds with those neighbours alone") {
  const auto matching = rounds_over("matching");
  CHECK(matching->rules().same_round_pairs);
  std::vector<EdgeView> edges = {edge(1, 3), edge(2, 9), edge(3, 9)};
  for (EdgeView& each : edges) each.was_offered = each.in_round = false;
  CHECK(matching->choose(edges).empty());
  CHECK(matching->may_finish(Time(3s), kCurrent, edges));  // nobody is left for it
  edges[1].in_round = edges[1].was_offered = true;
  edges[1].weight = 0.75;
  CHECK(matching->choose(edges) == std::vector{NodeId{2}});
  CHECK_FALSE(matching->may_finish(Time(3s), kCurrent, edges));
  CHECK(matching->may_finish(Time(2s) + kPatience, kCurrent, edges));
  edges[1].round = 10;
  CHECK(matching->may_finish(Time(3s), kCurrent, edges));
  CHECK(matching->share(edges[1], 15) == 0.75);
  // The peer has offered in the round or before, and is beyond it.
  edges[1].pairs.is_owed = true;
  CHECK_FALSE(matching->may_finish(Time(3s), kCurrent, edges));
  // A vector of a round in which the peer had another turn takes the peer's next one.
  CHECK_FALSE(matching->skips_round(edges[1], 10));
  edges[1].pairs.is_waiting = true;
  CHECK(matching->skips_round(edges[1], 10));
}

TEST_CASE("A sequence says over how many steps a flow is spread") {
  const Spans spans{.edge = {7, 7}, .any = {3, 1}, .round = 2};
  CHECK(rounds_over("matching")->span(spans) == 3);
  CHECK(rounds_over("base:2")->span(spans) == 8);  // a quarter of the dual step
}

TEST_CASE("A node proposes on a free edge and waits while proposals are young") {
  const auto pairwise = scheduler_of("pairwise");
  std::vector<EdgeView> edges = {edge(1, 9), edge(2, 9), edge(3, 9)};
  CHECK(pairwise->may_finish({}, kCurrent, edges));
  std::set<NodeId> asked;
  for (int k = 0; k < 3; ++k) {
    const std::vector<NodeId> chosen = pairwise->choose(edges);
    REQUIRE(chosen.size() == 1);
    CHECK(asked.insert(chosen[0]).second);  // never one that has not answered
    EdgeView& peer = *std::ranges::find(edges, chosen[0], &EdgeView::peer);
    peer.pairs.is_waiting = true;
    peer.offered = Time(1s);
    CHECK(pairwise->may_finish(Time(1s), kCurrent, edges) == (k == 0));  // one may wait
  }
  CHECK(pairwise->choose(edges).empty());
  // Until answers have been measured, for as long as the timing says.
  const Duration young = party_options(0).timing.patience_initial;
  CurrentRound current{.round = kCurrent.round, .since = Time(1s)};
  CHECK(pairwise->deadline(current, edges) == Time(1s) + young);
  CHECK_FALSE(pairwise->may_finish(Time(1s) + young - 1ns, current, edges));
  CHECK(pairwise->may_finish(Time(1s) + young, current, edges));
  // A node without a free edge steps no more often than answers come.
  current = {.round = kCurrent.round, .since = Time(9s), .pair_time = 100ms};
  CHECK_FALSE(pairwise->may_finish(Time(9s) + 100ms - 1ns, current, edges));
  CHECK(pairwise->may_finish(Time(9s) + 100ms, current, edges));
}

TEST_CASE("Where flows are counted the next step waits for every young proposal") {
  const auto pairwise = scheduler_of("pairwise", 1, true);
  std::vector<EdgeView> edges = {edge(1, 9), edge(2, 9)};
  edges[0].pairs.is_waiting = true;
  edges[0].offered = Time(2s);
  // Answers took 10 ms: a proposal is young for four times that.
  const CurrentRound current{.round = 10, .since = Time(2s), .pair_time = 10ms};
  CHECK_FALSE(pairwise->may_finish(Time(2039ms), current, edges));
  CHECK(pairwise->may_finish(Time(2040ms), current, edges));
}

TEST_CASE("A peer that waits for an answer gets no proposal") {
  const auto pairwise = scheduler_of("pairwise");
  std::vector<EdgeView> edges = {edge(1, 9), edge(2, 9)};
  edges[0].pairs.is_asked = true;
  for (int k = 0; k < 5; ++k) CHECK(pairwise->choose(edges) == std::vector{NodeId{2}});
}

TEST_CASE("Where rounds mix a span is told twice as long and a longer one before it fades") {
  const auto async = scheduler_of("async");
  double before = 0;
  const auto span_of = [&](double steps) {
    return before = async->span({.edge = {steps, before}, .any = {}});
  };
  CHECK(span_of(1) == 2);
  CHECK(span_of(.25) == doctest::Approx(.95 * 2));
  CHECK(span_of(.25) == doctest::Approx(.95 * .95 * 2));
  CHECK(span_of(2.5) == 5);
}
