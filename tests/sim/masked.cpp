#include "tests/sim/masked.h"

#include <utility>

#include "base/masks.h"
#include "optim/relay.h"

namespace starling::test {

LegalWay sliced_way(std::string_view algorithm) {
  return {.name = std::string(algorithm),
          .algorithm = optim::algorithm_named(algorithm),
          .schedule = gossip::schedule_named("allreduce"),
          .kind = topology::Kind::complete};
}

optim::Options masked_training(const LegalWay& way, optim::Options training) {
  training = training_by(way, std::move(training));
  training.aggregation.slicing.is_masked = true;
  return training;
}

sim::TrainerFactory masked_trainers(const optim::Options& training, std::uint64_t seed,
                                    const MaskedMaker& make) {
  return [=](std::size_t index) {
    optim::Options own = training;
    own.aggregation.slicing.masks =
        std::make_shared<Masks>(sim::credentials_of(seed, index)->key.curve_secret());
    return make(own, index);
  };
}

sim::TrainerFactory masked_trainers(const optim::Options& training, std::uint64_t seed,
                                    const ReferenceShape& shape, std::size_t relays) {
  return masked_trainers(training, seed, [=](const optim::Options& own, std::size_t index) {
    return reference_trainers(own, shape, relays)(index);
  });
}

sim::Options masked_world(std::size_t nodes, const LegalWay& way, const optim::Options& training) {
  sim::Options options = reference_world(nodes, way.kind, training);
  options.base.schedule = way.schedule;
  options.base.expect = nodes;
  options.has_keys = true;
  return options;
}

}  // namespace starling::test
