#include "gossip/node/end_watch.h"

#include <fmt/core.h>

#include <utility>

namespace starling::gossip {

RunEnd::Own EndWatch::own(Time now) const {
  const TrainingProgress& progress = around_.progress;
  const RunStatus& run = progress.run();
  return {.round = run.round,
          .uncounted = run.uncounted,
          .samples = run.samples,
          .seconds = progress.elapsed_s(now),
          .rounds_per_s = progress.rounds_per_s(now),
          .evaluation = run.evaluation,
          .is_budget_spent = progress.is_budget_spent()};
}

void EndWatch::begin(Time now, std::uint64_t round) {
  RunEnd::Own own = this->own(now);
  own.round = round;
  end_.judge(own, around_.members, around_.exchange.neighbors());
}

void EndWatch::tick(Time now, Outbox& out) {
  const Life& life = around_.life;
  const bool is_told = life.has_come_to<phases::Ending>() && !end_.reason().empty();
  const bool is_over = is_told && options_.goal.keep == GoalKeep::last;
  if (!life.has_come_to<phases::Computing>() || life.has_come_to<phases::Sealing>() || is_over)
    return;
  const RunStatus& run = around_.progress.run();
  const bool is_same = std::exchange(judged_round_, run.round) == run.round;
  if (is_same && now < judged_at_ + options_.timing.news) return;
  judged_at_ = now;
  end_.judge(own(now), around_.members, around_.exchange.neighbors());
  const bool has_to_end = end_.is_over(run.round, run.uncounted);
  if (has_to_end && life.is_in<phases::Computing>() && !std::exchange(has_cut_steps_, true))
    out.put(EndSteps{});
}

EndStatus EndWatch::status(Time now) const {
  const FleetProgress& progress = end_.progress();
  const RunStatus& run = around_.progress.run();
  EndStatus end{.progress = progress_text(options_.goal, progress),
                .done = share_done(options_.goal, progress),
                .reason = end_.reason(),
                .model = around_.settlement.model()};
  if (end_.is_over(run.round, run.uncounted)) end.round = *end_.agreed() + end_.refit_rounds();
  if (end.done && *end.done > 0 && !end.round)
    end.remaining_s = around_.progress.elapsed_s(now) * (1 - *end.done) / *end.done;
  if (!around_.life.has_come_to<phases::Sealing>()) return end;
  end.is_left_behind = around_.settlement.is_left_behind();
  end.shortfall = shortfall();
  end.goal_reached = end.shortfall.empty() && options_.goal.is_set();
  return end;
}

std::string EndWatch::shortfall() const {
  const RunStatus& run = around_.progress.run();
  const std::optional<double>& epsilon = options_.goal.epsilon;
  if (const std::string& problem = around_.settlement.problem(); !problem.empty()) return problem;
  if (std::string missing = end_.shortfall(run.evaluation); !missing.empty()) return missing;
  if (epsilon && run.privacy && !run.privacy->epsilon)
    return fmt::format(
        "stop.epsilon = {}: no epsilon bounds the steps without noise that came before", *epsilon);
  return run.problem ? fmt::format("the last steps were refused: {}", *run.problem) : "";
}

}  // namespace starling::gossip
