#include "optim/algorithms/registry.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "optim/algorithms/admm.h"
#include "optim/algorithms/dpsgd.h"
#include "optim/algorithms/exact_diffusion.h"
#include "optim/algorithms/extra.h"
#include "optim/algorithms/gradient_tracking.h"
#include "optim/algorithms/noloco.h"
#include "optim/algorithms/push_pull.h"
#include "optim/algorithms/qg.h"

namespace starling::optim {
namespace {

using Allowed = OptimizerRule::Allowed;

template <template <class> class A, class S>
std::unique_ptr<Algorithm<S>> make_as(std::span<const S> x, std::shared_ptr<BufferPool> pool,
                                      const Options& options, const WireForm& form) {
  return std::make_unique<A<S>>(x, std::move(pool), options, form);
}

template <template <class> class A>
constexpr AlgorithmMaker kMake = {make_as<A, float>, make_as<A, double>};

// In the limit the steps of all nodes add up to zero. Their gradients do so only if a step is
// linear in its gradient, and a step of adam is not.
constexpr OptimizerRule kLinear = {.allowed = Allowed::linear, .instead = "gt"};

// The flows describe the averages, but the outer step moves x away from these.
constexpr std::string_view kDiverges =
    "counts what came over its edges, and diverges where an outer step goes further than that";

constexpr AlgorithmRow kRows[] = {
    {.name = "dpsgd",
     .help = "local step, then average; a bias where data differ by node",
     .is_plain = true,
     .counterpart = "adpsgd",
     .make = kMake<Dpsgd>},
    {.name = "dpsgd-pipelined",
     .help = "average while the gradient is computed; overlaps the network, larger bias",
     .needs = {.overlaps = true},
     .is_plain = true,
     .counterpart = "adpsgd",
     .outer_refusal = "averages before the steps of a round are taken",
     .varying_steps_refusal = "exchanges while it steps, so that more steps hide the exchange",
     .make = kMake<DpsgdPipelined>},
    {.name = "qg",
     .help = "momentum of the whole network; smaller bias",
     .counterpart = "adpsgd",
     .optimizers = {Allowed::sgd, "brings a momentum of its own", "dpsgd"},
     .loop = LoopDuty::correct_gradient,
     .outer_refusal = "brings a momentum of the whole network of its own",
     .make = kMake<QuasiGlobal>},
    {.name = "ed",
     .alias = "led",
     .help = "exact however data differ, at the same traffic, also with many local steps",
     .needs = {.pairing = Pairing::exactly_once, .mixing_share = 0.5},
     .is_exact = true,
     .counterpart = "pairwise-ed",
     .optimizers = kLinear,
     .loop = LoopDuty::correct_step,
     .outer_refusal = kDiverges,
     .choice = {.rank = 1, .heeds_stragglers = true},
     .make = kMake<ExactDiffusion>},
    {.name = "gt",
     .alias = "kgt",
     .help = "exact too, also with adam, many local steps and unequal speeds; twice the traffic",
     .needs = {.pairing = Pairing::exactly_once},
     .vectors_offered = 2,
     .is_exact = true,
     .counterpart = "adpsgd",
     .loop = LoopDuty::correct_gradient,
     .outer_refusal = kDiverges,
     .choice = {.rank = 3},
     .make = kMake<GradientTracking>},
    {.name = "extra",
     .help = "exact however data differ, averages before the step; needs smaller steps than ed",
     .needs = {.pairing = Pairing::exactly_once},
     .is_exact = true,
     .counterpart = "pairwise-ed",
     .optimizers = kLinear,
     .loop = LoopDuty::correct_step,
     .mixed_rounds_instead = "ed, gt or admm",
     .outer_refusal = kDiverges,
     .varying_steps_refusal = "allows few local steps and diverges with more",
     .make = kMake<Extra>},
    {.name = "noloco",
     .help = "an outer step by the average of few; for schedule matching, biased as dpsgd",
     .vectors_offered = 2,
     .is_plain = true,
     .counterpart = "adpsgd",
     .mixed_rounds_instead = "dpsgd",
     .outer_refusal = "takes an outer step of its own",
     .varying_steps_refusal = "adds up what rounds of equally many steps did",
     .make = kMake<NoLoCo>},
    // Lian et al., Asynchronous decentralized parallel stochastic gradient descent, 2018. For one
    // node this is dpsgd: the schedule chooses pairs and times, and the weight 1/2.
    {.name = "adpsgd",
     .help = "two at a time, nobody waits; the faster count for more",
     .needs = {.is_pairwise = true},
     .is_plain = true,
     .counterpart = "dpsgd",
     .outer_refusal = "has no rounds that all nodes share",
     .make = kMake<Dpsgd>},
    // For one node this is ed with pairs of weight 1/2, where y is the sum of flows. The limit is
    // the optimum of all data, even if nodes differ in speed.
    {.name = "pairwise-ed",
     .help = "two at a time, nobody waits; exact",
     .needs = {.pairing = Pairing::exactly_once, .is_pairwise = true, .mixing_share = 0.5},
     .is_exact = true,
     .counterpart = "ed",
     .optimizers = kLinear,
     .loop = LoopDuty::correct_step,
     .outer_refusal = kDiverges,
     .choice = {.rank = 1},
     .make = kMake<ExactDiffusion>},
    {.name = "admm",
     .help = "exact, and indifferent to loss, delay and unequal speeds",
     .needs = {.fanout = Fanout::per_edge, .mixing_share = 0},
     .is_exact = true,
     .counterpart = "adpsgd",
     .optimizers = {Allowed::sgd, "solves a problem of its own in each round", "gt"},
     .loop = LoopDuty::serve_gradients,
     .outer_refusal = "solves a problem of its own in each round",
     .distance_refusal = "exchanges duals of edges, which are no models to be compared",
     .varying_steps_refusal = "solves a problem of its own in each round",
     .choice = {.rank = 2, .tolerates_delay = true},
     .make = kMake<Admm>},
    {.name = "push-pull",
     .help = "exact, also over edges that lead one way; twice the traffic, smaller steps on rings",
     .needs = {.fanout = Fanout::per_edge, .sums = true},
     .vectors_offered = 2,
     .is_exact = true,
     .counterpart = "adpsgd",
     .loop = LoopDuty::correct_gradient,
     .outer_refusal = kDiverges,
     .distance_refusal = "sums what went over each edge, which is no model to be compared",
     .make = kMake<PushPull>},
};

}  // namespace

std::span<const AlgorithmRow> algorithms() {
  return kRows;
}

const AlgorithmRow* find_algorithm(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &AlgorithmRow::name);
  return row == std::end(kRows) ? nullptr : row;
}

// Parts are as several local steps: what is averaged of one is late by a part of its period only.
bool allows_overlap(const AlgorithmRow& row) {
  return row.is_exact && row.needs.pairing == Pairing::exactly_once && !row.needs.is_pairwise &&
         row.varying_steps_refusal.empty();
}

bool allows_unequal_steps(const AlgorithmRow& row, bool by_steps) {
  return row.varying_steps_refusal.empty() && (row.is_exact || (row.is_plain && by_steps));
}

const AlgorithmRow* algorithm_named(std::string_view name) {
  const AlgorithmRow* const row = find_algorithm(name);
  ENSURE(row, "an algorithm that our code names has a row");
  return row;
}

}  // namespace starling::optim
