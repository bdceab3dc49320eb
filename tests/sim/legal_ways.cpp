#include "tests/sim/legal_ways.h"

#include <fmt/format.h>

#include <functional>

#include "tests/sim/reference.h"
#include "topology/kinds.h"
#include "topology/sequence.h"

namespace starling::test {

using gossip::Missing, topology::Kind;
using optim::AlgorithmRow, optim::algorithm_named;

std::vector<std::pair<topology::SequenceChoice, Kind>> moving_sequences() {
  std::vector<std::pair<topology::SequenceChoice, Kind>> all;
  for (const topology::SequenceRow& row : topology::sequences()) {
    if (!row.make) continue;
    if (row.allows(Kind::automatic)) {
      all.push_back({{&row, row.least}, Kind::automatic});
      if (row.most > 0) all.push_back({{&row, row.least + row.step}, Kind::automatic});
      continue;
    }
    for (const topology::KindRow& kind : topology::kinds())
      if (kind.kind != Kind::file && row.allows(kind.kind))
        all.push_back({{&row, row.least}, kind.kind});
  }
  return all;
}

namespace {

// Sequences that repeat differ in the turns alone: the first that needs no graph of its own is
// tried with every algorithm, the others with one that is exact and one that is not.
bool is_with_all(const topology::SequenceChoice& sequence, Kind kind) {
  return kind == Kind::automatic && sequence.size == sequence.row->least;
}

}  // namespace

std::vector<Rhythm> rhythms() {
  std::vector<Rhythm> all;
  for (const gossip::ScheduleRow& row : gossip::schedules()) {
    all.push_back({std::string(row.name), &row});
    if (row.is_in_slices) all.back().kind = Kind::complete;
    if (!row.waits_for_all) continue;
    for (const auto& [sequence, kind] : moving_sequences())
      if (!topology::is_directed(kind)) all.push_back({to_string(sequence), &row, sequence, kind});
  }
  return all;
}

std::vector<LegalWay> legal_ways() {
  std::vector<LegalWay> rows;
  const gossip::ScheduleRow& rounds = *gossip::schedule_named("rounds");
  const AlgorithmRow &dpsgd = *algorithm_named("dpsgd"), &ed = *algorithm_named("ed");
  const auto add = [&rows](const AlgorithmRow& algorithm, const gossip::ScheduleRow& schedule,
                           double quorum = 1, Missing missing = Missing::late,
                           Kind kind = Kind::automatic) {
    std::string name = fmt::format("{} {}", algorithm.name, schedule.name);
    if (quorum < 1) name += fmt::format(" quorum={}", quorum);
    if (missing != Missing::late) name += fmt::format(" missing={}", gossip::name(missing));
    if (kind != Kind::automatic) name += fmt::format(" kind={}", topology::to_string(kind));
    if (schedule.is_in_slices) kind = Kind::complete;
    rows.push_back({name, &algorithm, &schedule, quorum, missing, kind});
  };
  const auto add_those = [&add](auto applies, const gossip::ScheduleRow& schedule,
                                double quorum = 1) {
    for (const AlgorithmRow& row : optim::algorithms())
      if (applies(row)) add(row, schedule, quorum);
  };
  const auto is_pairwise = [](const AlgorithmRow& row) { return row.needs.is_pairwise; };
  const auto bears_one_way = [](const AlgorithmRow& row) {
    return row.needs.fanout == optim::Fanout::same && row.needs.pairing == optim::Pairing::newest;
  };
  const auto bears_mixed_rounds = [](const AlgorithmRow& row) {
    return !row.needs.is_pairwise && row.mixed_rounds_instead.empty();
  };
  const auto bears_loose = [&](const AlgorithmRow& row) {
    return bears_mixed_rounds(row) && !row.needs.overlaps;
  };
  const auto bears_slices = [](const AlgorithmRow& row) {
    return !row.needs.is_pairwise && !row.needs.overlaps && row.needs.fanout == optim::Fanout::same;
  };
  const auto add_over = [&](const topology::SequenceChoice& sequence, Kind kind,
                            const AlgorithmRow& algorithm) {
    add(algorithm, rounds, 1, Missing::late, kind);
    rows.back().name = fmt::format("{} {}", algorithm.name, to_string(sequence));
    if (topology::is_directed(kind)) rows.back().name += " one way";
    rows.back().sequence = sequence;
  };
  for (const gossip::ScheduleRow& schedule : gossip::schedules()) {
    if (schedule.is_pairwise)
      add_those(is_pairwise, schedule);
    else if (schedule.is_in_slices)
      add_those(bears_slices, schedule);
    else if (schedule.is_loose)
      add_those(bears_loose, schedule);
    else
      add_those(std::not_fn(is_pairwise), schedule);
    if (!schedule.waits_for_all) continue;
    add_those(bears_mixed_rounds, schedule, .5);
    for (const auto& [sequence, kind] : moving_sequences())
      for (const AlgorithmRow& row : optim::algorithms())
        if (!is_pairwise(row) && !row.needs.sums &&
            (is_with_all(sequence, kind) || &row == &dpsgd || &row == &ed) &&
            (!topology::is_directed(kind) || bears_one_way(row)))
          add_over(sequence, kind, row);
  }
  for (const gossip::ScheduleRow& schedule : gossip::schedules())
    if (!schedule.is_pairwise && !schedule.is_in_slices) add(dpsgd, schedule, 1, Missing::reuse);
  add(dpsgd, rounds, 1, Missing::self);
  add(*algorithm_named("dpsgd-pipelined"), rounds, 1, Missing::reuse);
  add(dpsgd, rounds, 1, Missing::reuse, Kind::exponential);
  for (const AlgorithmRow& row : optim::algorithms())
    if (row.needs.sums) add(row, rounds, 1, Missing::late, Kind::exponential);
  for (const auto outer : {optim::OuterKind::nesterov, optim::OuterKind::slowmo})
    for (const gossip::ScheduleRow& schedule : gossip::schedules()) {
      if (!schedule.goes_in_step()) continue;
      const auto add_outer = [&] {
        rows.back().name += fmt::format(" outer={}", optim::name(outer));
        rows.back().outer = outer;
      };
      add(dpsgd, schedule);
      add_outer();
      if (!schedule.waits_for_all) continue;
      for (const auto& [sequence, kind] : moving_sequences())
        if (sequence.row->bears_momentum) add_over(sequence, kind, dpsgd), add_outer();
    }
  return rows;
}

optim::Options training_by(const LegalWay& way, optim::Options training) {
  training.algorithm = way.algorithm;
  training.outer = way.outer;
  training.aggregation.slicing.is_on = way.schedule->is_in_slices;
  return training;
}

std::vector<std::string> compressed_forms() {
  std::vector<std::string> names = optim::wire_form_names();
  std::erase_if(names,
                [](const std::string& name) { return !optim::wire_form_named(name).remembers(); });
  return names;
}

bool is_sparse(const optim::WireForm& codec) {
  return codec.coding.compressor && codec.coding.compressor->is_sparse;
}

bool allows(const LegalWay& way, const optim::WireForm& codec) {
  if (!codec.remembers()) return true;
  if (way.schedule->is_in_slices || way.algorithm->needs.sums) return false;
  return way.missing == Missing::late && way.kind != Kind::exponential &&
         (way.algorithm->is_exact || !is_sparse(codec));
}

bool allows(const LegalWay& way, const optim::MixRule& rule) {
  if (rule.is_plain) return true;
  if (!way.algorithm->distance_refusal.empty() || way.schedule->is_in_slices) return false;
  if (way.sequence.moves() &&
      (topology::is_directed(way.kind) || way.outer != optim::OuterKind::none ||
       way.sequence.row->is_by_group))
    return false;
  return !rule.is_trimmed ||
         (!way.algorithm->is_exact && !way.schedule->is_pairwise && !way.sequence.moves());
}

optim::Options walk_training(const AlgorithmRow& algorithm) {
  optim::Options training = reference_training(0.1);
  training.algorithm = &algorithm;
  training.penalty = 0.5;
  return training;
}

std::vector<std::pair<LegalWay, optim::Options>> ways_with(const std::string& codec) {
  std::vector<std::pair<LegalWay, optim::Options>> ways;
  for (LegalWay way : legal_ways()) {
    optim::Options training = walk_training(*way.algorithm);
    training.codec = optim::wire_form_named(codec);
    if (!allows(way, training.codec)) continue;
    way.name += " " + codec;
    ways.emplace_back(std::move(way), std::move(training));
  }
  return ways;
}

sim::Options world_by(const LegalWay& way, const optim::Options& training, std::size_t nodes,
                      double loss) {
  sim::Options options = reference_world(nodes, way.kind, training);
  options.base.schedule = way.schedule;
  options.base.topology.sequence = way.sequence;
  options.base.quorum = way.quorum;
  options.base.missing = way.missing;
  options.base.staleness = 2;
  options.base.expect = nodes;
  options.straggler = 4;
  options.network.loss = loss;
  options.network.jitter = 2 * options.compute;
  return options;
}

}  // namespace starling::test
