#include "gossip/node/saver.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "optim/saved_state.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

namespace {

const auto kCopy = std::make_shared<const optim::SavedState>();

struct Desk {
  explicit Desk(const CheckpointPlan& plan) : saver(plan, now) { outbox.begin(outputs); }

  // A job begins after that round; whether it copied the state, and what the disk then said.
  bool job(std::uint64_t round, const std::string& problem = "", bool rests = false) {
    if (!saver.is_due(now, round, rests)) return false;
    copy(round);
    answer(problem);
    return true;
  }
  void copy(std::uint64_t round) {
    Checkpoint checkpoint;
    checkpoint.round = round;
    saver.begin(now, checkpoint);
    saver.made(kCopy, outbox);
  }
  void answer(const std::string& problem = "") {
    saver.saved(now, {problem, ++generation, 8}, outbox);
  }
  // A member that trains says that all save after that round.
  void hear(std::uint64_t round) {
    Member member = test::sample_member("node-2");
    member.incarnation = ++incarnation;
    member.save_at = round;
    party.membership.receive(now, {}, Gossip{{{member}}}, party.outbox);
    saver.hear(now, party.membership.roster(), 1000);
  }
  std::size_t saves() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        outputs, [](const Output& output) { return std::holds_alternative<Save>(output); }));
  }

  Time now{};
  Outputs outputs;
  Outbox outbox{1, node_id("node-0"), 1};
  Saver saver;
  test::Party party{test::party_options(1)};
  std::uint64_t generation = 0, incarnation = 0;
};

}  // namespace

TEST_CASE("A node without a place for checkpoints saves none whichever node asks") {
  Desk desk({.rounds = 1, .every = 1ms});
  desk.saver.want();
  desk.saver.agree(desk.now, 5);
  desk.now += 1h;
  CHECK_FALSE(desk.job(9, "", true));
  CHECK_FALSE(desk.saver.is_due_at_rest(desk.now, 9));
  CHECK_FALSE(desk.saver.status().fleet_round);
}

TEST_CASE("A plan in rounds saves at multiples and at the next round where one was jumped over") {
  Desk desk({.rounds = 10, .is_kept = true});
  std::vector<std::uint64_t> saved;
  for (const std::uint64_t round : {1, 9, 10, 11, 19, 20, 34, 35, 39, 40})
    if (desk.job(round)) saved.push_back(round);
  CHECK(saved == std::vector<std::uint64_t>{10, 20, 34, 40});
}

TEST_CASE("A plan in time counts from the last copy") {
  Desk desk({.every = 10s, .is_kept = true});
  CHECK_FALSE(desk.job(1));
  desk.now += 10s;
  CHECK(desk.job(2));
  desk.now += 9s;
  CHECK_FALSE(desk.job(3));
  desk.now += 1s;
  CHECK(desk.job(4));
  CHECK(desk.saver.status().round == 4);
  CHECK(desk.saver.status().generation == 2);
}

TEST_CASE("One checkpoint is under way at a time") {
  Desk desk({.rounds = 1, .is_kept = true});
  desk.copy(1);
  CHECK(desk.saver.is_busy());
  CHECK(desk.saver.status().is_writing);
  desk.saver.want();
  CHECK_FALSE(desk.saver.is_due(desk.now, 2, false));
  CHECK_FALSE(desk.saver.is_due_at_rest(desk.now, 2));
  desk.answer();
  CHECK_FALSE(desk.saver.is_busy());
  CHECK(desk.saver.is_due(desk.now, 2, false));
  CHECK(desk.saves() == 1);
}

TEST_CASE("What the disk says without being asked changes nothing") {
  Desk desk({.rounds = 1, .is_kept = true});
  desk.answer();
  desk.saver.made(kCopy, desk.outbox);
  CHECK(desk.outputs.empty());
  CHECK_FALSE(desk.saver.status().round);
}

TEST_CASE("After a failure the next try comes soon and a success forgets it") {
  Desk desk({.every = 60s, .is_kept = true});
  desk.now += 60s;
  CHECK(desk.job(5, "no room"));
  CHECK(desk.saver.status().problem == "no room");
  CHECK_FALSE(desk.saver.has(5));
  desk.now += 9s;
  CHECK_FALSE(desk.job(6));
  desk.now += 1s;
  CHECK(desk.job(7));
  CHECK(desk.saver.status().problem.empty());
  CHECK(desk.saver.has(7));
}

TEST_CASE("A node that rests saves its round once") {
  Desk desk({.is_kept = true});
  CHECK(desk.saver.is_due_at_rest(desk.now, 8));
  CHECK(desk.job(8, "", true));
  CHECK_FALSE(desk.saver.is_due_at_rest(desk.now, 8));
  desk.saver.want();
  CHECK(desk.saver.is_due_at_rest(desk.now, 8));
}

TEST_CASE(
    "A node that rests tries again after a failure and saves for the fleet no more than once") {
  Desk desk({.is_kept = true});
  desk.saver.agree(desk.now, 100);
  CHECK(desk.job(8, "no room", true));
  CHECK_FALSE(desk.saver.is_due_at_rest(desk.now, 8));
  desk.now += 10s;
  CHECK(desk.saver.is_due_at_rest(desk.now, 8));
  CHECK(desk.job(8, "", true));
  desk.now += 1h;
  CHECK_FALSE(desk.saver.is_due_at_rest(desk.now, 8));
}

TEST_CASE("The round that all save is saved once at it or at the first one behind it") {
  Desk desk({.is_kept = true});
  desk.saver.agree(desk.now, 20);
  desk.saver.agree(desk.now, 10);
  CHECK(desk.saver.agreed_round() == 20);
  CHECK_FALSE(desk.job(19));
  CHECK(desk.job(22));
  CHECK_FALSE(desk.job(23));
  desk.saver.agree(desk.now, 20);
  CHECK_FALSE(desk.job(24));
  desk.saver.agree(desk.now, 30);
  CHECK(desk.job(30));
}

TEST_CASE("A round that is never reached is given up and a later wish for a lower one holds") {
  Desk desk({.is_kept = true});
  desk.hear(1000 + (1 << 16));
  CHECK(desk.saver.agreed_round() == 1000 + (1 << 16));
  desk.now += 9min;
  desk.saver.tick(desk.now, desk.outbox);
  desk.saver.agree(desk.now, 2000);
  CHECK(desk.saver.agreed_round() == 1000 + (1 << 16));
  desk.now += 1min;
  desk.saver.tick(desk.now, desk.outbox);
  CHECK_FALSE(desk.saver.status().fleet_round);
  desk.hear(1000 + (1 << 16));  // others have not given it up yet
  CHECK_FALSE(desk.saver.status().fleet_round);
  desk.saver.agree(desk.now, 2000);
  CHECK(desk.job(2000));
  desk.now += 1h;
  desk.saver.tick(desk.now, desk.outbox);
  CHECK(desk.saver.agreed_round() == 2000);  // it was saved
}

TEST_CASE("A round to save at that no node comes near is not believed") {
  Desk desk({.is_kept = true});
  desk.hear(1ULL << 47);
  desk.hear(1001 + (1 << 16));
  CHECK_FALSE(desk.saver.status().fleet_round);
  desk.hear(1010);
  CHECK(desk.saver.agreed_round() == 1010);
}
