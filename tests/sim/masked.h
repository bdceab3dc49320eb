// Worlds whose nodes mask what they give (exchange.masks).
#pragma once

#include "tests/sim/legal_ways.h"
#include "tests/sim/reference.h"

namespace starling::test {

// The way of the algorithm in slices.
LegalWay sliced_way(std::string_view algorithm);
// `training` by that way, with masks.
optim::Options masked_training(const LegalWay& way, optim::Options training);
// What makes the trainers of a world of that seed: every life of a node has masks of its own, by
// the node's key. `make`: makes that of a node from its options.
using MaskedMaker =
    std::function<std::unique_ptr<optim::Trainer>(const optim::Options& own, std::size_t index)>;
sim::TrainerFactory masked_trainers(const optim::Options& training, std::uint64_t seed,
                                    const MaskedMaker& make);
// Of the reference problem.
sim::TrainerFactory masked_trainers(const optim::Options& training, std::uint64_t seed,
                                    const ReferenceShape& shape = {}, std::size_t relays = 0);
// As reference_world(), of nodes with keys on a complete graph.
sim::Options masked_world(std::size_t nodes, const LegalWay& way, const optim::Options& training);

}  // namespace starling::test
