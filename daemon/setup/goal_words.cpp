#include "daemon/setup/goal_words.h"

#include <fmt/core.h>

namespace starling::daemon {

std::string words_without_goal(const std::string& who) {
  return fmt::format(
      "no goal is set: {} until Ctrl-C, or starling stop for the whole fleet; stop.rounds, "
      "stop.accuracy or another key stop.* ends the run by itself",
      who);
}

bool has_trained_all(const gossip::Checkpoint& before, const gossip::Goal& goal) {
  const std::optional<std::uint64_t> last = goal.last_round(before.uncounted);
  return before.sealed != 0 && last && before.round >= *last;
}

std::string words_of_ended_run(const gossip::Checkpoint& before, const gossip::Goal& goal) {
  const std::string what =
      fmt::format("this run has ended before, after round {} with the model {:016x}",
                  before.round - before.uncounted, before.sealed);
  if (!has_trained_all(before, goal))
    return what + ": goes on from there to the goals that are set now";
  return fmt::format(
      "{}: nothing is left of stop.rounds = {}, so the node ends again; a "
      "larger stop.rounds goes on from there, and another node.data-dir begins anew",
      what, goal.rounds);
}

std::string words_of_own_model(const std::string& path) {
  return fmt::format(
      "the run has not ended, but this node has: {} holds its own model, and the files of other "
      "nodes may differ; a goal (stop.*) or starling stop ends all with one model",
      path);
}

}  // namespace starling::daemon
