#include "daemon/cli/offline/privacy_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/setup/config.h"
#include "daemon/setup/sites.h"
#include "models/data/load.h"
#include "models/data/partition.h"
#include "optim/privacy/accountant.h"

namespace starling::daemon {
namespace {

optim::Shard planned_shard(std::size_t nodes) {
  optim::Shard shard{.members = {}, .place = 0};
  for (std::size_t k = 0; k < nodes; ++k)
    shard.members.push_back(node_id(fmt::format("node-{}", k)));
  return shard;
}

// As the nodes deal out the data, or as the files of the sites have them.
Result<std::vector<std::size_t>> samples_of(const models::DataOptions& options, std::size_t nodes) {
  std::vector<std::size_t> samples;
  const optim::Shard shard = planned_shard(nodes);
  if (has_sites(options)) {
    for (std::size_t k = 0; k < nodes; ++k) {
      const models::DataOptions own = site_options(options, k);
      TRY(const models::Data data, models::load(own));
      const models::Assignment assignment = models::assign_rows(data.train, own, shard);
      samples.push_back(assignment.parts[assignment.own].size());
    }
    return samples;
  }
  TRY(const models::Data data, models::load(options));
  const models::Assignment assignment = models::assign_rows(data.train, options, shard);
  const bool is_dealt = options.shard.kind == models::ShardChoice::Kind::automatic;
  for (std::size_t k = 0; k < nodes; ++k)
    samples.push_back(assignment.parts[is_dealt ? k : assignment.own].size());
  return samples;
}

// 1, 10, 100, 1,000 and 10,000, and the last round of the configuration.
std::vector<std::uint64_t> rounds_of(std::uint64_t last) {
  std::vector<std::uint64_t> rounds;
  for (const std::uint64_t count : {1U, 10U, 100U, 1'000U, 10'000U})
    if (last == 0 || count < last) rounds.push_back(count);
  if (last > 0) rounds.push_back(last);
  return rounds;
}

std::string batch_text(std::size_t size) {
  return size == 0 ? "all samples" : fmt::format("{}", size);
}

}  // namespace

double PrivacyPlan::epsilon(std::size_t count, std::uint64_t after) const {
  const std::size_t batch = batch_size == 0 ? count : std::min(batch_size, count);
  const double rate = static_cast<double>(batch) / static_cast<double>(count);
  return optim::epsilon(optim::renyi_curve({.rate = rate, .noise = noise}), after * steps_per_round,
                        delta);
}

Result<PrivacyPlan> read_privacy_plan(const Settings& settings, std::size_t nodes,
                                      std::optional<std::size_t> samples) {
  TRY(const Config config, read_config(settings, {}));
  const optim::Options& training = config.learner.optim;
  if (training.noise == 0)
    return fail(
        "--privacy: optim.noise = 0, and without noise no epsilon bounds what a node tells; "
        "expected optim.noise above 0");
  PrivacyPlan plan{.clip = training.clip,
                   .noise = training.noise,
                   .delta = training.delta,
                   .batch_size = training.batch_size,
                   .samples = {},
                   .rounds = rounds_of(config.node.goal.rounds)};
  const double pace = training.local_steps.pace.value_or(1);
  plan.steps_per_round = static_cast<std::uint64_t>(
      std::max(1.0, std::ceil(pace * static_cast<double>(training.local_steps.fixed.value_or(1)))));
  plan.may_take_more = !training.local_steps.fixed || !training.local_steps.pace;
  plan.samples.assign(nodes, samples.value_or(0));
  if (!samples) {
    TRY(plan.samples, samples_of(config.learner.data, nodes));
  }
  if (std::ranges::count(plan.samples, std::size_t{0}) > 0)
    return fail("--privacy: a node of {} has no samples; expected fewer nodes, or more data",
                nodes);
  return plan;
}

nlohmann::json to_json(const PrivacyPlan& plan) {
  using nlohmann::json;
  json rounds = json::array();
  for (const std::uint64_t count : plan.rounds) {
    std::map<std::size_t, double> known;
    json epsilons = json::array();
    for (const std::size_t samples : plan.samples) {
      const auto [found, is_new] = known.emplace(samples, 0);
      if (is_new) found->second = plan.epsilon(samples, count);
      epsilons.push_back(found->second);
    }
    rounds.push_back({{"rounds", count},
                      {"steps", count * plan.steps_per_round},
                      {"epsilon", std::move(epsilons)}});
  }
  return {{"clip", plan.clip},
          {"noise", plan.noise},
          {"delta", plan.delta},
          {"batch_size", plan.batch_size},
          {"steps_per_round", plan.steps_per_round},
          {"may_take_more", plan.may_take_more},
          {"samples", plan.samples},
          {"after", std::move(rounds)}};
}

std::string to_lines(const PrivacyPlan& plan) {
  const auto [least, most] = std::ranges::minmax(plan.samples);
  std::string text =
      fmt::format("\n{:<20}clip {}, noise {}, delta {}, batches of {}\n{:<20}{}{}\n\n", "privacy",
                  plan.clip, plan.noise, plan.delta, batch_text(plan.batch_size),
                  "steps of a round", plan.may_take_more ? "at least " : "", plan.steps_per_round);
  text += fmt::format("{:>12}{:>14}{:>26}", "rounds", "noisy steps",
                      fmt::format("epsilon at {} samples", with_commas(least)));
  if (most != least) text += fmt::format("{:>26}", fmt::format("at {} samples", with_commas(most)));
  for (const std::uint64_t rounds : plan.rounds) {
    text += fmt::format("\n{:>12}{:>14}{:>26.4g}", with_commas(rounds),
                        with_commas(rounds * plan.steps_per_round), plan.epsilon(least, rounds));
    if (most != least) text += fmt::format("{:>26.4g}", plan.epsilon(most, rounds));
  }
  return text + "\nSurveys of tables and evaluations on held-out rows are not in it.\n";
}

}  // namespace starling::daemon
