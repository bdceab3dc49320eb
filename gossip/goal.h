// Goal: when a run ends. Each kind of goal is one row, which says what it is judged by and how
// people read it; the judge of the fleet (node/run_end.h), the status and the command line walk the
// rows. To add a goal: its member in Goal and a number in FleetProgress (gossip/goal.h), its row in
// gossip/goal.cpp, a binding in gossip/options.cpp, what it has come to in RunEnd::see()
// (gossip/node/run_end.cpp), what is new of this node in RunEnd::Own (run_end.h, end_watch.cpp),
// what is new of other nodes in Report (gossip/wire/member.h) and JudgedBy, a row in
// docs/settings.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "optim/evaluation.h"

namespace starling::gossip {

// Over which nodes loss and accuracy are judged: by their mean, or by the worst node's.
enum class GoalOf { mean, worst };
// Which models become the one with which the run ends: the last ones, or those of the evaluation at
// which the fleet's held-out loss was least.
enum class GoalKeep { last, best };

struct Goal {
  std::uint64_t rounds = 0;    // 0: no limit
  double seconds = 0;          // 0: no limit
  std::uint64_t samples = 0;   // 0: no limit
  std::uint64_t patience = 0;  // evaluations without gain; 0: any number
  std::optional<double> loss = {}, accuracy = {};
  // The largest epsilon that its steps may come to; see optim/privacy/accountant.h.
  std::optional<double> epsilon = {};
  GoalOf of = GoalOf::mean;
  GoalKeep keep = GoalKeep::last;

  optim::Target target() const { return {loss, accuracy}; }
  // The round with which stop.rounds is reached where rounds are in step, of which `uncounted` were
  // done by no node; nothing: no limit.
  std::optional<std::uint64_t> last_round(std::uint64_t uncounted) const;
  bool is_set() const;
  bool operator==(const Goal&) const = default;
};

// What the fleet has come to. Nothing: not known.
struct FleetProgress {
  double rounds = 0, seconds = 0, samples = 0;
  std::optional<double> loss = {}, accuracy = {};  // of held-out data
  double stale_evaluations = 0;                    // the last ones without a gain
  bool is_budget_spent = false;                    // of epsilon, at this node
};

// Which numbers of the members' records a goal is judged by; each is told only if a goal asks.
enum class JudgedBy { own, samples, accuracy, loss };  // own: none

struct GoalRow {
  std::string_view key;
  JudgedBy by = JudgedBy::own;
  // What is wanted; nothing: the goal is not set.
  std::optional<double> (*wanted)(const Goal& goal);
  std::optional<double> (*come_to)(const FleetProgress& progress);
  bool is_at_most = false;  // reached at or below what is wanted
  bool is_limit = true;     // ends a run whatever the model is; false: the model has to be so good
  std::string_view noun = {};  // before the number
  std::string (*number)(double value);
  std::string_view unit = {};  // after it

  // "600 rounds", "accuracy 95 %"
  std::string words(double value) const { return std::string(noun) + number(value).append(unit); }
};

std::span<const GoalRow> goal_rows();
// Whether a goal that is set is judged by that number.
bool asks(const Goal& goal, JudgedBy by);

// The first goal that is reached; null: none.
const GoalRow* reached_goal(const Goal& goal, const FleetProgress& progress);
// "120 of 600 rounds, accuracy 91 % of 95 %"; empty without a goal.
std::string progress_text(const Goal& goal, const FleetProgress& progress);
// The part of the run that is over, 0 to 1, by the limit that comes first; nothing without one.
std::optional<double> share_done(const Goal& goal, const FleetProgress& progress);
// What is not reached of the goals that the model has to reach; empty: nothing.
std::string shortfall(const Goal& goal, const FleetProgress& progress);

}  // namespace starling::gossip
