#include "gossip/node/saver.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "optim/saved_state.h"

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
  std::size_t saves() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        outputs, [](const Output& output) { return std::holds_alternative<Save>(output); }));
  }

  Time now{};
  Outputs outputs;
  Outbox outbox{1, node_id("node-0"), 1};
  Saver saver;
  std::uint64_t generation = 0;
};

}  // namespace

TEST_CASE("A node without a place for checkpoints saves none whoever asks") {
  Desk desk({.rounds = 1, .every = 1ms});
  desk.saver.want();
  desk.saver.agree(5);
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
  desk.saver.agree(100);
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
  desk.saver.agree(20);
  desk.saver.agree(10);
  CHECK(desk.saver.agreed_round() == 20);
  CHECK_FALSE(desk.job(19));
  CHECK(desk.job(22));
  CHECK_FALSE(desk.job(23));
  desk.saver.agree(20);
  CHECK_FALSE(desk.job(24));
  desk.saver.agree(30);
  CHECK(desk.job(30));
}
