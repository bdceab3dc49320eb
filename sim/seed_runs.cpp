#include "sim/seed_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace starling::sim {
namespace {

using gossip::NodeSummary;

std::optional<double> root_mean_square_of(const gossip::Summary& summary,
                                          std::optional<double> NodeSummary::*member) {
  double squares = 0, count = 0;
  for (const NodeSummary& node : summary.nodes)
    if (node.*member) squares += *(node.*member) * *(node.*member), ++count;
  return count > 0 ? std::optional(std::sqrt(squares / count)) : std::nullopt;
}

// Hands out seeds and gives their results on, both in the order of the seeds.
class Counter {
 public:
  Counter(const SeedRunOptions& options, const std::function<void(SeedResult)>& found)
      : next_(options.first_seed), last_(options.last_seed), due_(next_), found_(&found) {}

  std::optional<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    return next_ > last_ ? std::nullopt : std::optional(next_++);
  }
  void put(SeedResult result) {
    const std::lock_guard lock(mutex_);
    early_.emplace(result.seed, std::move(result));
    for (auto first = early_.begin(); first != early_.end() && first->first == due_;
         first = early_.erase(first), ++due_)
      (*found_)(std::move(first->second));
  }

 private:
  std::mutex mutex_;
  std::uint64_t next_, last_, due_;
  const std::function<void(SeedResult)>* found_;
  std::map<std::uint64_t, SeedResult> early_;  // that wait for one before them
};

}  // namespace

SeedResult result_of(const gossip::Summary& summary) {
  SeedResult result{
      .seed = summary.seed.value(),
      .round = summary.goal.round,
      .event_hash = summary.event_hash.value(),
      .reached = summary.goal.reached,
      .virtual_s = summary.virtual_s.value(),
      .loss = gossip::mean(summary.nodes, &NodeSummary::loss),
      .accuracy = gossip::mean(summary.nodes, &NodeSummary::accuracy),
      .rmse = gossip::mean(summary.nodes, &NodeSummary::rmse),
      .distance = root_mean_square_of(summary, &NodeSummary::distance),
      .distance_to_optimum = root_mean_square_of(summary, &NodeSummary::distance_to_optimum),
      .violations = summary.violations};
  for (const NodeSummary& node : summary.nodes) result.sent_bytes += node.sent_bytes.value_or(0);
  return result;
}

void run_seeds(const SeedRunOptions& options, const SeededTrainers& trainers,
               const std::function<void(SeedResult)>& found,
               const std::function<void(std::uint64_t, Time, const gossip::Progress&)>& told) {
  Counter counter(options, found);
  const auto work = [&] {
    while (const auto seed = counter.take()) {
      Options world = options.world;
      world.seed = *seed;
      world.trace = {};
      counter.put(result_of(simulate(world, trainers(*seed),
                                     [&](std::size_t, Time now, const gossip::Progress& progress) {
                                       told(*seed, now, progress);
                                     })));
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t k = 1; k < options.threads; ++k) others.emplace_back(work);
  work();
}

}  // namespace starling::sim
