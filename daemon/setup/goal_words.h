// goal_words: what nodes that start and end say of the goal of a run and of its end.
#pragma once

#include <chrono>
#include <string>

#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/goal.h"

namespace starling::daemon {

// For the start: "no goal is set: WHO until Ctrl-C, …"; `who`: "trains".
std::string words_without_goal(const std::string& who);
// Whether a node that comes back has no round left to train. Then it waits only so long for each
// of those that trained with it, who end with it where they come back too.
inline constexpr Duration kEndedPatience = std::chrono::seconds(2);
bool has_trained_all(const gossip::Checkpoint& before, const gossip::Goal& goal);
// What it comes back to. REQUIRES that the run has ended.
std::string words_of_ended_run(const gossip::Checkpoint& before, const gossip::Goal& goal);
// What a node wrote that a person ended, beside others.
std::string words_of_own_model(const std::string& path);

}  // namespace starling::daemon
