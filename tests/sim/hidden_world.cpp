#include "tests/sim/hidden_world.h"

#include <string>

#include "tests/sim/battery.h"

namespace starling::test {

using namespace std::chrono_literals;

optim::Options training_of(const LegalWay& way) {
  optim::Options training = reference_training(0.05);
  training.penalty = 0.5;
  return training_by(way, std::move(training));
}

LegalWay way_of(std::string_view algorithm, topology::Kind kind) {
  LegalWay way{.name = std::string(algorithm), .algorithm = optim::algorithm_named(algorithm)};
  way.kind = kind;
  return way;
}

bool reaches_optimum(const LegalWay& way) {
  return way.algorithm->is_exact && way.outer == optim::OuterKind::none;
}

sim::Options hidden_world(const LegalWay& way, std::size_t nodes, const sim::Hiding& hiding,
                          std::uint64_t seed) {
  sim::Options options = reference_world(nodes, way.kind, training_of(way));
  options.hiding = hiding;
  options.seed = seed;
  options.compute = 50ms;
  options.network.delay = 5ms;
  options.network.jitter = 5ms;
  options.base.expect = nodes;
  options.base.schedule = way.schedule;
  options.base.topology.sequence = way.sequence;
  options.base.quorum = way.quorum;
  options.base.missing = way.missing;
  options.base.staleness = 2;
  return options;
}

}  // namespace starling::test
