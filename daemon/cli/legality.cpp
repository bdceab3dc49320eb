#include "daemon/cli/legality.h"

#include <fmt/core.h>

namespace starling::daemon {
namespace {

using gossip::Schedule;
using optim::Algorithm;
using optim::LocalOptimizerKind;

void check_optimizer(const optim::Options& training, Reader& reader) {
  const auto refuse = [&](std::string_view why) { reader.mistake("optim.local-optimizer", why); };
  if (training.local_optimizer == LocalOptimizerKind::sgd) return;
  if (training.algorithm == Algorithm::qg)
    refuse("qg brings a momentum of its own; use sgd, or algorithm dpsgd");
  if (training.algorithm == Algorithm::admm)
    refuse("admm solves a problem of its own in each round; use sgd, or algorithm gt");
  if (training.local_optimizer != LocalOptimizerKind::adam) return;
  if (training.algorithm == Algorithm::ed || training.algorithm == Algorithm::pairwise_ed)
    refuse(
        fmt::format("the limit of {} with adam is biased; use sgd or momentum, or algorithm gt, "
                    "which is exact with adam",
                    name(training.algorithm)));
}

void check_schedule(const gossip::Options& node, Algorithm algorithm, Reader& reader) {
  const auto refuse = [&](const std::string& why) { reader.mistake("exchange.schedule", why); };
  const bool is_pairwise = node.schedule == Schedule::pairwise;
  if (node.needs.is_pairwise && !is_pairwise)
    refuse(fmt::format("{} exchanges two at a time; use pairwise, or algorithm {}", name(algorithm),
                       algorithm == Algorithm::adpsgd ? "dpsgd" : "ed"));
  if (!node.needs.is_pairwise && is_pairwise)
    refuse(fmt::format("{} averages with all neighbours at once; use rounds, or algorithm {}",
                       name(algorithm), algorithm == Algorithm::ed ? "pairwise-ed" : "adpsgd"));
  if (algorithm == Algorithm::ed && is_loose(node.schedule))
    refuse(
        fmt::format("ed diverges where vectors of different rounds are averaged, as {} does; "
                    "use rounds, or algorithm gt or admm",
                    name(node.schedule)));
  if (node.needs.overlaps && is_loose(node.schedule))
    refuse(
        fmt::format("{} hides the network behind the gradient, and {} does not wait for it; "
                    "use rounds, or algorithm dpsgd",
                    name(algorithm), name(node.schedule)));
  if (algorithm == Algorithm::ed && node.quorum < 1)
    reader.mistake("exchange.quorum",
                   "ed diverges where vectors of different rounds are averaged, as with those that "
                   "a quorum leaves behind; use 1, or algorithm gt or admm");
  if (node.quorum < 1 && node.schedule != Schedule::rounds)
    reader.mistake("exchange.quorum",
                   fmt::format("{} waits for no quorum; use schedule rounds, or quorum 1",
                               name(node.schedule)));
}

void check_missing(const gossip::Options& node, Algorithm algorithm, Reader& reader) {
  if (reader.is_default("exchange.missing") || node.missing == gossip::Missing::late) return;
  if (node.needs.delivery == optim::Delivery::exactly_once)
    reader.mistake("exchange.missing",
                   fmt::format("{} is exact only where both ends of an edge average the same "
                               "vectors; use late, or algorithm dpsgd",
                               name(algorithm)));
  else if (node.needs.delivery == optim::Delivery::per_edge)
    reader.mistake("exchange.missing",
                   "admm takes each message once, whenever it comes; leave it at late");
  else if (node.schedule == Schedule::pairwise)
    reader.mistake("exchange.missing", "two that exchange average the same vectors; use late");
  else if (node.schedule != Schedule::rounds && node.missing == gossip::Missing::self)
    reader.mistake("exchange.missing",
                   fmt::format("{} averages what it heard last, of whatever round; use reuse",
                               name(node.schedule)));
}

}  // namespace

void check_legality(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  check_optimizer(training, reader);
  check_schedule(node, training.algorithm, reader);
  check_missing(node, training.algorithm, reader);
  if (node.needs.delivery == optim::Delivery::newest && !node.needs.is_pairwise) return;
  if (node.topology.kind == topology::Kind::exponential)
    reader.mistake("topology.kind",
                   fmt::format("its edges lead one way, and {} needs both; use hypercube or "
                               "random, or algorithm dpsgd",
                               name(training.algorithm)));
}

}  // namespace starling::daemon
