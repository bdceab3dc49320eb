// Every way in which nodes may average, by the rows of the registries: what
// daemon/setup/legality.cpp allows. A new algorithm or schedule is among them without being named
// here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gossip/options.h"
#include "gossip/schedule.h"
#include "optim/options.h"
#include "sim/options.h"

namespace starling::test {

struct LegalWay {
  std::string name;
  const optim::AlgorithmRow* algorithm;
  const gossip::ScheduleRow* schedule = gossip::schedule_named("rounds");
  double quorum = 1;
  gossip::Missing missing = gossip::Missing::late;
  topology::Kind kind = topology::Kind::automatic;
  optim::OuterKind outer = optim::OuterKind::none;
  topology::SequenceChoice sequence = {};
};

std::vector<LegalWay> legal_ways();
// When nodes exchange: each schedule, and rounds over each sequence of graphs whose edges lead both
// ways.
struct Rhythm {
  std::string name;
  const gossip::ScheduleRow* schedule;
  topology::SequenceChoice sequence = {};
  topology::Kind kind = topology::Kind::automatic;
};
std::vector<Rhythm> rhythms();
// Every sequence of graphs but still, over each kind of graph that it may be taken from; base with
// one and with two neighbours a round.
std::vector<std::pair<topology::SequenceChoice, topology::Kind>> moving_sequences();
// `training` by that way.
optim::Options training_by(const LegalWay& way, optim::Options training);

// Of the walks over all ways: training for the reference problem with one optimum of all, and the
// world of `nodes` of them, one of which is slow, on a network that loses such a part of messages.
optim::Options walk_training(const optim::AlgorithmRow& algorithm);
sim::Options world_by(const LegalWay& way, const optim::Options& training, std::size_t nodes,
                      double loss);

// The ways that allow that codec, each with it in its name, and the training by them.
std::vector<std::pair<LegalWay, optim::Options>> ways_with(const std::string& codec);

// The codecs whose vectors are encoded against earlier ones, each by a name of its own.
std::vector<std::string> compressed_forms();
bool is_sparse(const optim::WireForm& codec);
// Whether the way allows that codec.
bool allows(const LegalWay& way, const optim::WireForm& codec);
// Whether it allows that rule of averaging.
bool allows(const LegalWay& way, const optim::MixRule& rule);

}  // namespace starling::test
