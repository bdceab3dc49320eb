#include "daemon/cli/algorithm_choice.h"

#include <fmt/core.h>

namespace starling::daemon {
namespace {

using gossip::Schedule;
using optim::Algorithm;

// Why one node's samples are of another kind than another's; empty where all draw from one urn.
std::string difference(const models::DataOptions& data) {
  if (data.source == models::Source::reference) return "data.source=reference";
  if (data.partition.kind != models::Partition::Kind::iid)
    return fmt::format("data.partition={}", to_string(data.partition));
  if (data.shard.kind != models::ShardChoice::Kind::automatic)
    return "data.shard says what each holds";
  return {};
}

}  // namespace

std::string advise(const gossip::Options& node, const models::LearnerOptions& learner,
                   const Reader& reader) {
  const Algorithm named = learner.optim.algorithm;
  const bool is_plain = named == Algorithm::dpsgd || named == Algorithm::dpsgd_pipelined ||
                        named == Algorithm::adpsgd;
  if (!is_plain) return {};
  const Algorithm chosen = choose_algorithm(node, learner, reader).algorithm;
  if (chosen == Algorithm::dpsgd || chosen == Algorithm::adpsgd) return {};
  return fmt::format("optim.algorithm = {} is biased, for data differ by node ({}); auto takes {}",
                     name(named), difference(learner.data), name(chosen));
}

AlgorithmChoice choose_algorithm(const gossip::Options& node, const models::LearnerOptions& learner,
                                 const Reader& reader) {
  const std::string differs = difference(learner.data);
  const bool is_pairwise = node.schedule == Schedule::pairwise;
  if (differs.empty())
    return {is_pairwise ? Algorithm::adpsgd : Algorithm::dpsgd,
            "every node draws from the same data, and nothing is simpler"};
  const std::string because = fmt::format("data differ by node ({})", differs);
  if (is_pairwise) return {Algorithm::pairwise_ed, because + ", and two at a time exchange"};
  // The mean of steps is the step of the mean only where a step is linear in the gradient.
  const bool is_adam = learner.optim.local_optimizer == optim::LocalOptimizerKind::adam;
  const bool is_complete = node.topology.kind == topology::Kind::complete;
  if (is_complete && learner.optim.local_steps == 1 && !is_adam)
    return {Algorithm::dpsgd, because + ", but all are neighbours and average exactly"};
  if (node.topology.kind == topology::Kind::exponential)
    return {Algorithm::dpsgd, because + ", but an exact algorithm needs edges that lead both ways"};
  if (!reader.is_default("exchange.missing") && node.missing != gossip::Missing::late)
    return {Algorithm::dpsgd, fmt::format("exchange.missing={}", name(node.missing))};
  const bool mixes = gossip::mixes_rounds(node);
  if (is_adam) return {Algorithm::gt, because + ", and gt is exact with adam"};
  if (learner.optim.local_optimizer != optim::LocalOptimizerKind::sgd)
    return {mixes ? Algorithm::gt : Algorithm::ed, because};
  if (mixes)
    return {Algorithm::admm,
            because + ", and nobody waits for the slow (exchange.schedule, quorum)"};
  if (reader.text("cluster.preset") == "wan")
    return {Algorithm::admm, because + ", and the network is wide (cluster.preset=wan)"};
  return {Algorithm::ed, fmt::format("{}, and the network is near (cluster.preset={})", because,
                                     reader.text("cluster.preset"))};
}

}  // namespace starling::daemon
