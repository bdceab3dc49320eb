#include "daemon/setup/goal_words.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::daemon;

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A node that comes back to a run that has ended says so and what goes on") {
  gossip::Checkpoint before;
  before.round = 107;
  before.uncounted = 7;
  before.sealed = 0xabc;
  gossip::Goal goal{.rounds = 100};
  CHECK(has_trained_all(before, goal));
  const std::string over = words_of_ended_run(before, goal);
  CHECK(holds(over, "after round 100 with the model 0000000000000abc"));
  CHECK(holds(over, "a larger stop.rounds goes on from there"));
  CHECK(holds(over, "another node.data-dir"));
  goal.rounds = 101;
  CHECK_FALSE(has_trained_all(before, goal));
  CHECK(holds(words_of_ended_run(before, goal), "goes on from there"));
  goal = {.accuracy = 0.9};
  CHECK_FALSE(has_trained_all(before, goal));
  goal = {.rounds = 100};
  before.sealed = 0;
  CHECK_FALSE(has_trained_all(before, goal));
}

TEST_CASE("A node without a goal says how it is ended") {
  const std::string text = words_without_goal("trains");
  CHECK(text.starts_with("no goal is set: trains until Ctrl-C"));
  CHECK(holds(text, "stop.rounds"));
}
