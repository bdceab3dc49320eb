#include "daemon/setup/legality.h"

#include <fmt/core.h>

#include "topology/build.h"
#include "topology/sequence.h"

namespace starling::daemon {
namespace {

using optim::AlgorithmRow, optim::Fanout, optim::OptimizerRule, optim::Pairing;
using optim::LocalOptimizerKind;

bool allows_mixed_rounds(const AlgorithmRow& algorithm) {
  return algorithm.mixed_rounds_instead.empty();
}

void check_optimizer(const optim::Options& training, Reader& reader) {
  const AlgorithmRow& algorithm = *training.algorithm;
  const OptimizerRule& rule = algorithm.optimizers;
  if (allows(rule, training.local_optimizer)) return;
  if (rule.allowed == OptimizerRule::Allowed::sgd)
    reader.mistake("optim.local-optimizer", fmt::format("{} {}; use sgd, or algorithm {}",
                                                        algorithm.name, rule.reason, rule.instead));
  else
    reader.mistake("optim.local-optimizer",
                   fmt::format("the limit of {0} with adam is biased; use sgd or momentum, or "
                               "algorithm {1}, which is exact with adam",
                               algorithm.name, rule.instead));
}

void check_schedule(const gossip::Options& node, const AlgorithmRow& algorithm, Reader& reader) {
  const auto refuse = [&](const std::string& why) { reader.mistake("exchange.schedule", why); };
  const bool is_pairwise = node.schedule->is_pairwise;
  if (algorithm.needs.is_pairwise && !is_pairwise)
    refuse(fmt::format("{} exchanges two at a time; use pairwise, or algorithm {}", algorithm.name,
                       algorithm.counterpart));
  if (!algorithm.needs.is_pairwise && is_pairwise)
    refuse(fmt::format("{} averages with all neighbours at once; use rounds, or algorithm {}",
                       algorithm.name, algorithm.counterpart));
  if (!allows_mixed_rounds(algorithm) && node.schedule->is_loose)
    refuse(
        fmt::format("{} may diverge where vectors of different rounds are averaged, as {} does; "
                    "use rounds, or algorithm {}",
                    algorithm.name, node.schedule->name, algorithm.mixed_rounds_instead));
  if (algorithm.needs.overlaps && node.schedule->is_loose)
    refuse(fmt::format(
        "{} computes its gradient while vectors are sent, and {} does not wait for them; "
        "use rounds, or algorithm dpsgd",
        algorithm.name, node.schedule->name));
  if (!allows_mixed_rounds(algorithm) && node.quorum < 1)
    reader.mistake(
        "exchange.quorum",
        fmt::format("{} may diverge where vectors of different rounds are averaged, as with those "
                    "that a quorum leaves behind; use 1, or algorithm {}",
                    algorithm.name, algorithm.mixed_rounds_instead));
  if (node.quorum < 1 && !node.schedule->waits_for_all)
    reader.mistake("exchange.quorum",
                   fmt::format("{} waits for no quorum; use schedule rounds, or quorum 1",
                               node.schedule->name));
}

// The turns of a round are known where all nodes are in the same round.
void check_sequence(const gossip::Options& node, Reader& reader) {
  if (!node.topology.sequence.moves()) return;
  const std::string sequence = to_string(node.topology.sequence);
  if (!node.schedule->waits_for_all)
    reader.mistake("topology.sequence",
                   fmt::format("{} changes the neighbours from round to round, and schedule {} has "
                               "no rounds of neighbours; use still, or schedule rounds",
                               sequence, node.schedule->name));
  if (node.quorum < 1)
    reader.mistake("exchange.quorum",
                   fmt::format("{} of few neighbours a round leaves nobody to wait for; use 1, or "
                               "topology.sequence still",
                               sequence));
}

// Slices are summed over all nodes, each as it is.
void check_slices(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  if (!node.schedule->is_in_slices) return;
  const std::string_view schedule = node.schedule->name;
  const AlgorithmRow& algorithm = *training.algorithm;
  if (algorithm.needs.fanout == Fanout::per_edge || algorithm.needs.overlaps)
    reader.mistake(
        "exchange.schedule",
        fmt::format("{} sums one vector of all nodes after their steps, and {} has {}; "
                    "use rounds, or algorithm {}",
                    schedule, algorithm.name,
                    algorithm.needs.overlaps ? "one that is late" : "another for each neighbour",
                    algorithm.is_exact ? "ed or gt" : "dpsgd"));
  if (node.topology.kind != topology::Kind::complete)
    reader.mistake("topology.kind",
                   fmt::format("{} sums over neighbours, and all nodes must be; use complete, or "
                               "schedule rounds",
                               schedule));
  if (training.codec.remembers())
    reader.mistake(
        "exchange.codec",
        fmt::format(
            "{} sums vectors as they are, and {} tells what has changed; use bf16, or "
            "schedule rounds",
            schedule,
            training.codec.coding.parts > 1 ? "exchange.parts" : to_string(training.codec)));
}

// What each node gives is masked only where one sums for all.
void check_masks(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  if (training.aggregation.slicing.is_masked && !node.schedule->is_in_slices)
    reader.mistake("exchange.masks",
                   fmt::format("in schedule {} each neighbour averages with a node's own "
                               "vector, which no mask could hide from it; use false, or schedule "
                               "allreduce",
                               node.schedule->name));
}

void check_outer(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  if (training.outer == optim::OuterKind::none) return;
  if (const std::string_view why = training.algorithm->outer_refusal; !why.empty())
    reader.mistake("optim.outer", fmt::format("{} {}; use none, or algorithm dpsgd",
                                              training.algorithm->name, why));
  else if (node.topology.sequence.moves() && !node.topology.sequence.row->bears_momentum)
    reader.mistake("optim.outer",
                   fmt::format("an outer step goes on beyond what the pairs of a round moved, and "
                               "over {} it diverges where messages are lost; use none, or "
                               "topology.sequence matching",
                               to_string(node.topology.sequence)));
  else if (mixes_rounds(node))
    reader.mistake("optim.outer",
                   fmt::format("an outer step ends a round, and vectors of different rounds are "
                               "averaged ({}); use none, or schedule rounds with quorum 1",
                               node.schedule->is_loose ? node.schedule->name : "exchange.quorum"));
}

// Whether the exchange is measured, for settings that follow from what it takes.
void check_measured(const gossip::Options& node, std::string_view key, std::string_view instead,
                    Reader& reader) {
  if (!node.schedule->goes_in_step())
    reader.mistake(std::string(key),
                   fmt::format("no round waits for its own vectors in schedule {}, and what it "
                               "takes does not tell of the link; use {}, or schedule rounds",
                               node.schedule->name, instead));
}

// Whether the number of steps may differ by node and round.
void check_local_steps(const gossip::Options& node, const optim::Options& training,
                       Reader& reader) {
  if (training.local_steps.fixed) return;
  const auto refuse = [&](const std::string& why) { reader.mistake("optim.local-steps", why); };
  const std::string_view why = training.algorithm->varying_steps_refusal;
  if (!why.empty())
    refuse(fmt::format("{} {}; use a number, or algorithm dpsgd or gt", training.algorithm->name,
                       why));
  else if (training.outer != optim::OuterKind::none)
    refuse(
        "an outer step adds up what rounds of equally many steps did; use a number, or "
        "optim.outer = none");
  else
    check_measured(node, "optim.local-steps", "a number", reader);
}

// Whether nodes may weigh by their steps, with as many as this one takes.
void check_pace(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  const AlgorithmRow& algorithm = *training.algorithm;
  const bool is_outer = training.outer != optim::OuterKind::none;
  if (training.weighs_steps && (is_outer || !allows_unequal_steps(algorithm, true)))
    reader.mistake("data.weight",
                   fmt::format("{} does not weigh nodes by their steps; use nodes or samples, or "
                               "algorithm ed or gt",
                               full_name(training)));
  if (training.local_steps.pace == 1.0) return;
  const auto refuse = [&](const std::string& why) { reader.mistake("optim.pace", why); };
  if (const std::string_view why = algorithm.varying_steps_refusal; !why.empty())
    refuse(fmt::format("{} {}; use 1, or algorithm ed or gt", algorithm.name, why));
  else if (is_outer)
    refuse("an outer step adds up what equally many steps did on each node; use 1");
  else if (!allows_unequal_steps(algorithm, training.weighs_steps))
    refuse(fmt::format(
        "the limit of {} leans to nodes that take more steps; use 1, or algorithm "
        "ed or gt, which are exact{}",
        algorithm.name, algorithm.is_plain ? ", or data.weight = steps, where it may lean" : ""));
  if (training.local_steps.pace) return;
  check_measured(node, "optim.pace", "a number", reader);
  if (training.overlap) refuse("with exchange.overlap no node waits for slower ones; use a number");
}

void check_missing(const gossip::Options& node, const AlgorithmRow& algorithm, Reader& reader) {
  if (reader.is_default("exchange.missing") || node.missing == gossip::Missing::late) return;
  const bool moves = node.topology.sequence.moves();
  if (moves || node.schedule->is_in_slices)
    return reader.mistake(
        "exchange.missing",
        fmt::format("what a neighbour sent in an earlier round stands for nobody with {}; use late",
                    moves ? "topology.sequence = " + to_string(node.topology.sequence)
                          : fmt::format("schedule {}", node.schedule->name)));
  if (algorithm.needs.pairing == Pairing::exactly_once)
    reader.mistake("exchange.missing",
                   fmt::format("{} is exact only where both ends of an edge average the same "
                               "vectors; use late, or algorithm dpsgd",
                               algorithm.name));
  else if (algorithm.needs.fanout == Fanout::per_edge)
    reader.mistake("exchange.missing",
                   fmt::format("{} takes each message once, whenever it comes; leave it at late",
                               algorithm.name));
  else if (node.schedule->is_pairwise)
    reader.mistake("exchange.missing", "two that exchange average the same vectors; use late");
  else if (node.schedule->is_loose && node.missing == gossip::Missing::self)
    reader.mistake("exchange.missing",
                   fmt::format("{} averages what it heard last, of whatever round; use reuse",
                               node.schedule->name));
}

// What is encoded against earlier vectors needs every one of them, both ways.
void check_codec(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  const optim::WireForm& codec = training.codec;
  if (!codec.remembers()) return;
  if (codec.coding.is_chosen) check_measured(node, "exchange.codec", "i8", reader);
  const bool has_parts = codec.coding.parts > 1;
  const std::string what =
      has_parts ? fmt::format("{} in parts", to_string(codec)) : to_string(codec);
  const auto refuse = [&](const std::string& why) {
    reader.mistake(has_parts ? "exchange.parts" : "exchange.codec",
                   fmt::format("{} {}", what, why));
  };
  if (node.missing != gossip::Missing::late)
    refuse(
        fmt::format("tells what changed since the vector before, so that none can be left out, as "
                    "with exchange.missing = {}; use late, or codec bf16",
                    gossip::name(node.missing)));
  if (topology::is_directed(node.topology))
    refuse(
        fmt::format("counts the vectors both ways of an edge, and those of topology.kind = {} lead "
                    "one way; use kind hypercube or random, or codec bf16",
                    to_string(node.topology.kind)));
  const bool is_sparse = codec.coding.compressor && codec.coding.compressor->is_sparse;
  if (has_parts && node.schedule->is_pairwise)
    refuse("takes turns on an edge, and pairs of schedule pairwise come at random; use 1");
  if ((is_sparse || has_parts) && !training.algorithm->is_exact)
    refuse(
        fmt::format("makes the graph mix more slowly, and the bias of {} grows with that; use {}, "
                    "or algorithm ed",
                    training.algorithm->name, has_parts ? "1" : "i4"));
}

// What is averaged late must be a part, and the algorithm must be right with parts.
void check_overlap(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  if (!training.overlap) return;
  const auto refuse = [&](const std::string& why) { reader.mistake("exchange.overlap", why); };
  const AlgorithmRow& algorithm = *training.algorithm;
  if (!allows_overlap(algorithm))
    return refuse(
        fmt::format("{} is not exact where a part is averaged after the next steps; use false, or "
                    "algorithm ed or gt",
                    algorithm.name));
  if (training.codec.coding.parts == 1)
    refuse(
        "whole vectors would be averaged a round late; use false, or exchange.parts = 2 or more");
  if (!node.schedule->goes_in_step())
    refuse(fmt::format("schedule {} does not wait for the network; use false, or schedule rounds",
                       node.schedule->name));
  if (!training.local_steps.fixed || training.codec.coding.is_chosen)
    refuse(
        "hides what the exchange takes, from which optim.local-steps = auto and exchange.codec = "
        "auto follow; use false, or a number and i4");
}

// Refuses a rule that shortens differences where few neighbours of a round can be compared. Returns
// whether it did. REQUIRES a sequence of graphs.
bool refuse_over_turns(const gossip::Options& node, const optim::Options& training,
                       const auto& refuse) {
  const std::string sequence = to_string(node.topology.sequence);
  if (node.topology.sequence.row->is_by_group)
    refuse(sequence, "leaves a small group alone with a liar in it in most rounds",
           "mean, or another topology.sequence");
  else if (training.outer != optim::OuterKind::none)
    refuse("optim.outer",
           "goes on in the direction in which one neighbour pulled, farther than the others "
           "of later rounds pull back",
           "mean, or topology.sequence still");
  else if (topology::is_directed(node.topology))
    refuse(sequence, "shortens one way alone where edges lead one way, so that models stay apart",
           "mean, or topology.kind hypercube");
  else
    return false;
  return true;
}

// Whether neighbours' vectors can be compared, and their differences shortened, as the rule does.
void check_aggregation(const gossip::Options& node, const optim::Options& training,
                       Reader& reader) {
  const optim::MixRule& rule = *training.aggregation.rule;
  const AlgorithmRow& algorithm = *training.algorithm;
  const auto refuse = [&](std::string_view what, std::string_view why, std::string_view instead) {
    reader.mistake("exchange.aggregation", fmt::format("{} {}; use {}", what, why, instead));
  };
  if (rule.is_plain) return;
  if (!algorithm.distance_refusal.empty())
    return refuse(algorithm.name, algorithm.distance_refusal, "mean, or algorithm ed or gt");
  if (node.schedule->is_in_slices)
    return refuse(node.schedule->name, "shows no node the whole vector of another",
                  "mean, or schedule rounds");
  if (training.codec.coding.parts > 1)
    return refuse("exchange.parts", "compares one part of a vector with another",
                  "mean, or exchange.parts = 1");
  const bool moves = node.topology.sequence.moves();
  if (moves && refuse_over_turns(node, training, refuse)) return;
  if (!rule.is_trimmed) return;
  if (algorithm.is_exact)
    return refuse(algorithm.name,
                  "is exact only where both ends of an edge count the same difference",
                  "clip, or algorithm dpsgd");
  if (node.schedule->is_pairwise || moves)
    return refuse(moves ? to_string(node.topology.sequence) : std::string(node.schedule->name),
                  "averages with one neighbour at a time, of which nothing "
                  "would be left",
                  "clip, or schedule rounds with topology.sequence still");
  if (training.codec.remembers())
    refuse(to_string(training.codec), "is decoded step by step, and trim needs whole vectors",
           "clip, or codec bf16");
}

// Whether rows of one file are held out.
bool is_cut(models::Source source) {
  return source == models::Source::csv || source == models::Source::libsvm;
}

// A row of these data that is evaluated on, and not trained on.
bool may_hold_out(const models::DataOptions& data) {
  if (data.source == models::Source::reference) return false;
  return !is_cut(data.source) || !data.test_path.empty() || data.holdout > 0;
}

}  // namespace

void check_privacy(const gossip::Goal& goal, const models::LearnerOptions& learner,
                   Reader& reader) {
  const optim::Options& training = learner.optim;
  const AlgorithmRow& algorithm = *training.algorithm;
  if (training.noise > 0 && training.clip == 0)
    reader.mistake("optim.noise",
                   fmt::format("{} is in units of optim.clip, and that is 0: no gradient is "
                               "bounded; use optim.clip above 0, or noise 0",
                               training.noise));
  if (goal.epsilon && training.noise == 0)
    reader.mistake("stop.epsilon",
                   fmt::format("{} bounds what noisy steps tell, and optim.noise is 0; use "
                               "optim.noise above 0, or leave it empty",
                               *goal.epsilon));
  if (training.clip == 0) return;
  if (learner.model.kind == models::ModelKind::external)
    reader.mistake("optim.clip",
                   fmt::format("{} clips the gradients of single samples, and a trainer's samples "
                               "are not seen by the daemon (model.kind = external); use 0, and "
                               "clip in the trainer",
                               training.clip));
  if (algorithm.loop == optim::LoopDuty::serve_gradients)
    reader.mistake("optim.clip",
                   fmt::format("{} clips gradients, and {} solves for all samples without them; "
                               "use 0, or algorithm ed or gt",
                               training.clip, algorithm.name));
  if (training.noise > 0 && !may_hold_out(learner.data))
    reader.mistake("optim.noise",
                   fmt::format("{} hides the rows that are trained on, and evaluations, which "
                               "others are told, would be of these (data.holdout = {}); use "
                               "data.test-path or data.holdout above 0, or noise 0",
                               training.noise, learner.data.holdout));
}

void check_split(const models::LearnerOptions& learner, Reader& reader) {
  if (learner.data.split != models::Split::columns) return;
  using enum models::ModelKind;
  const optim::Options& training = learner.optim;
  const auto refuse = [&reader](std::string_view key, std::string_view what,
                                std::string_view instead) {
    reader.mistake(key, fmt::format("data.split = columns {}; use {}", what, instead));
  };
  if (const auto kind = learner.model.kind; kind == mlp || kind == net || kind == external)
    refuse("model.kind", "learns by the dual of linear models alone", "auto or data.split rows");
  if (learner.model.l2 == 0.0)
    refuse("model.l2", "has a dual of one number a row only with l2 above 0", "auto or a number");
  if (!learner.model.from.empty())
    refuse("model.from", "starts from the rows that the sites have in common", "an empty one");
  if (learner.model.class_weights.is_set())
    refuse("model.class-weight", "counts every row as much as another", "an empty one");
  if (learner.data.suppress_below > 0)
    refuse("data.suppress-below", "tells no words, classes or means of this node", "0");
  if (training.weight_decay > 0)
    refuse("optim.weight-decay", "would shorten what rows tell, in place of weights",
           "0, and model.l2");
  if (training.algorithm->loop != optim::LoopDuty::serve_gradients)
    refuse("optim.algorithm",
           fmt::format("solves each site's part at once, and {} takes steps by gradients",
                       training.algorithm->name),
           "auto or admm");
}

void check_refit(const gossip::Options& node, const models::LearnerOptions& learner,
                 Reader& reader) {
  const models::DataOptions& data = learner.data;
  const auto refuse = [&reader](std::string_view why, std::string_view instead) {
    reader.mistake("data.refit", fmt::format("true {}; use {}, or false", why, instead));
  };
  const bool is_external = learner.model.kind == models::ModelKind::external;
  if (is_external || !is_cut(data.source) || !data.test_path.empty() || data.holdout == 0)
    refuse("trains on rows of data.path that were held out, and there are none",
           "data.source csv or libsvm, data.holdout above 0, and no data.test-path");
  if (!node.schedule->goes_in_step())
    refuse(fmt::format("begins after the same round at all nodes, which have none in common with "
                       "exchange.schedule = {}",
                       node.schedule->name),
           "schedule rounds");
  if (node.goal.keep == gossip::GoalKeep::best)
    refuse("goes on from the last models, and stop.keep = best goes back to earlier ones",
           "stop.keep last");
  if (learner.optim.noise > 0)
    refuse("trains on rows by which the model was judged without noise", "optim.noise 0");
}

bool allows(const AlgorithmRow& algorithm, const gossip::Options& node,
            LocalOptimizerKind optimizer) {
  const bool is_pairwise = node.schedule->is_pairwise;
  return allows(algorithm.optimizers, optimizer) && algorithm.needs.is_pairwise == is_pairwise &&
         (allows_mixed_rounds(algorithm) || !mixes_rounds(node));
}

// Running sums are numbers by themselves, and an edge carries them in every round.
void check_sums(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  const AlgorithmRow& algorithm = *training.algorithm;
  if (!algorithm.needs.sums) return;
  const auto refuse = [&](std::string_view key, const std::string& what, std::string_view instead) {
    reader.mistake(std::string(key),
                   fmt::format("{} tells sums of all that went over an edge, and {}; use {}, or "
                               "algorithm gt",
                               algorithm.name, what, instead));
  };
  if (training.codec.remembers())
    refuse(training.codec.coding.parts > 1 ? "exchange.parts" : "exchange.codec",
           "a compressed vector tells what has changed", "native");
  else if (training.codec.format->width < sizeof(float))
    refuse("exchange.codec", "two bytes round a sum by more than is new in it", "f32");
  if (node.topology.sequence.moves())
    refuse("topology.sequence",
           to_string(node.topology.sequence) + " has other edges in each round", "still");
}

void check_legality(const gossip::Options& node, const optim::Options& training, Reader& reader) {
  const AlgorithmRow& algorithm = *training.algorithm;
  check_optimizer(training, reader);
  check_schedule(node, algorithm, reader);
  check_sequence(node, reader);
  check_slices(node, training, reader);
  check_masks(node, training, reader);
  check_outer(node, training, reader);
  check_local_steps(node, training, reader);
  check_pace(node, training, reader);
  check_missing(node, algorithm, reader);
  check_codec(node, training, reader);
  check_overlap(node, training, reader);
  check_aggregation(node, training, reader);
  check_sums(node, training, reader);
  const optim::Needs& needs = algorithm.needs;
  if (needs.sums) return;
  if (needs.fanout == Fanout::same && needs.pairing == Pairing::newest && !needs.is_pairwise)
    return;
  if (topology::is_directed(node.topology))
    reader.mistake("topology.kind",
                   fmt::format("its edges lead one way, and {} needs both; use hypercube or "
                               "random, or algorithm {}",
                               algorithm.name, algorithm.is_exact ? "push-pull" : "dpsgd"));
}

}  // namespace starling::daemon
