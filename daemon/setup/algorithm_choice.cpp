#include "daemon/setup/algorithm_choice.h"

#include <fmt/core.h>

#include <tuple>

#include "daemon/setup/legality.h"
#include "topology/build.h"

namespace starling::daemon {
namespace {

using optim::AlgorithmRow;

// A trainer's data and optimizer are its own.
bool is_of_trainers(const models::LearnerOptions& learner) {
  return learner.model.kind == models::ModelKind::external;
}

// For an unknown optimizer: the one with which the fewest algorithms are exact.
optim::LocalOptimizerKind optimizer_of(const models::LearnerOptions& learner) {
  return is_of_trainers(learner) ? optim::LocalOptimizerKind::adam : learner.optim.local_optimizer;
}

// Why the distribution of samples may differ by node; empty if it is equal.
std::string difference(const models::LearnerOptions& learner) {
  const models::DataOptions& data = learner.data;
  if (is_of_trainers(learner)) return "only the trainers know";
  if (data.source == models::Source::reference) return "data.source=reference";
  if (data.partition.kind != models::Partition::Kind::iid)
    return fmt::format("data.partition={}", to_string(data.partition));
  if (data.shard.kind != models::ShardChoice::Kind::automatic)
    return "data.shard says what each holds";
  return {};
}

// Of the exact algorithms that the settings allow, the one of least rank; if none, the first that
// fits this schedule, and the checks report what is wrong with it.
const AlgorithmRow* choose_exact(const gossip::Options& node, const models::LearnerOptions& learner,
                                 bool is_wide) {
  const optim::LocalOptimizerKind optimizer = optimizer_of(learner);
  const bool is_pairwise = node.schedule->is_pairwise;
  // The less, the better.
  const auto merit = [&](const AlgorithmRow& row) {
    return std::tuple(!allows(row, node, optimizer), is_wide && !row.choice.tolerates_delay,
                      mixes_rounds(node) && row.choice.heeds_stragglers, row.choice.rank);
  };
  const AlgorithmRow* best = nullptr;
  for (const AlgorithmRow& row : optim::algorithms()) {
    if (row.choice.rank == 0 || row.needs.is_pairwise != is_pairwise) continue;
    // As check_privacy() in legality.cpp.
    if (learner.optim.clip > 0 && row.loop == optim::LoopDuty::serve_gradients) continue;
    if (!best || merit(row) < merit(*best)) best = &row;
  }
  return best;
}

// Whether plain averaging has the same result as one node with all data: the mean of the steps is
// the step of the mean only if averaging follows each step and steps are linear in the gradient.
bool moves_as_one(const gossip::Options& node, const models::LearnerOptions& learner) {
  return node.topology.kind == topology::Kind::complete && !node.topology.sequence.moves() &&
         learner.optim.local_steps.fixed == 1 && is_linear(optimizer_of(learner));
}

bool is_wide_network(const Reader& reader) {
  return reader.text("cluster.preset") == "wan";
}

// The other reasons for the choice among exact algorithms.
std::string what_else(const AlgorithmRow& exact, const gossip::Options& node,
                      const models::LearnerOptions& learner, const Reader& reader) {
  const optim::LocalOptimizerKind optimizer = optimizer_of(learner);
  if (is_of_trainers(learner))
    return fmt::format(
        ", and {} is exact with any optimizer; it sends {} vectors for one: where all trainers "
        "draw "
        "from the same data, optim.algorithm = dpsgd is as good and sends one",
        exact.name, exact.vectors_offered);
  if (!is_linear(optimizer)) return fmt::format(", and {} is exact with adam", exact.name);
  if (optimizer != optim::LocalOptimizerKind::sgd) return {};
  if (mixes_rounds(node)) return ", and nobody waits for the slow (exchange.schedule, quorum)";
  if (is_wide_network(reader)) return ", and the network is wide (cluster.preset=wan)";
  return fmt::format(", and the network is near (cluster.preset={})",
                     reader.text("cluster.preset"));
}

// Of nodes with all columns.
AlgorithmChoice choose_for_rows(const gossip::Options& node, const models::LearnerOptions& learner,
                                const Reader& reader) {
  const AlgorithmRow* const plain = optim::algorithm_named("dpsgd");
  const std::string differs = difference(learner);
  const bool is_pairwise = node.schedule->is_pairwise;
  if (differs.empty())
    return {is_pairwise ? optim::algorithm_named(plain->counterpart) : plain,
            "every node draws from the same data, and nothing is simpler"};
  if (learner.optim.outer != optim::OuterKind::none)
    return {plain, fmt::format("an outer step is taken (optim.outer={})",
                               optim::name(learner.optim.outer))};
  if (const optim::MixRule& rule = *learner.optim.aggregation.rule; !rule.is_plain)
    return {is_pairwise ? optim::algorithm_named(plain->counterpart) : plain,
            fmt::format("members may lie (exchange.aggregation={}), and an exact algorithm adds up "
                        "what comes over each edge",
                        rule.name)};
  const AlgorithmRow* const exact = choose_exact(node, learner, is_wide_network(reader));
  const bool is_guess = is_of_trainers(learner);
  const std::string because =
      fmt::format("data {} by node ({})", is_guess ? "may differ" : "differ", differs);
  if (is_pairwise && is_guess)
    return {optim::algorithm_named(plain->counterpart),
            because + ", but no algorithm of pairs is exact with any optimizer"};
  if (is_pairwise) return {exact, because + ", and two at a time exchange"};
  if (moves_as_one(node, learner))
    return {plain, because + ", but all are neighbours and average exactly"};
  if (topology::is_directed(node.topology))
    return node.topology.sequence.moves()
               ? AlgorithmChoice{plain, because + ", but edges lead one way, others each round"}
               : AlgorithmChoice{optim::algorithm_named("push-pull"),
                                 because + ", and edges lead one way"};
  if (!reader.is_default("exchange.missing") && node.missing != gossip::Missing::late)
    return {plain, fmt::format("exchange.missing={}", name(node.missing))};
  return {exact, because + what_else(*exact, node, learner, reader)};
}

}  // namespace

std::string advise(const gossip::Options& node, const models::LearnerOptions& learner,
                   const Reader& reader) {
  const AlgorithmRow* const named = learner.optim.algorithm;
  // A user with an own trainer knows whether its data differ.
  if (!named->is_plain || is_of_trainers(learner)) return {};
  const AlgorithmRow* const chosen = choose_algorithm(node, learner, reader).algorithm;
  if (chosen->is_plain) return {};
  return fmt::format("optim.algorithm = {} is biased, for data differ by node ({}); auto takes {}",
                     named->name, difference(learner), chosen->name);
}

AlgorithmChoice choose_algorithm(const gossip::Options& node, const models::LearnerOptions& learner,
                                 const Reader& reader) {
  if (learner.data.split == models::Split::columns)
    return {
        optim::algorithm_named("admm"),
        "sites have other columns, and it solves the dual of each at once (data.split=columns)"};
  return choose_for_rows(node, learner, reader);
}

}  // namespace starling::daemon
