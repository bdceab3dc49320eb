#include "optim/local/relay_learner.h"

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "optim/relay.h"
#include "optim/saved_state.h"

using namespace starling;
using namespace starling::optim;

namespace {

using Vector = std::vector<double>;

Payload snapshot_of(std::span<const double> x, const std::string& kind, State<double> state = {}) {
  BufferPool pool;
  SavedState saved = save_state<double>(x, one_block(x.size()), state, pool);
  saved.schema = "a model";
  saved.kind = kind;
  return encode(saved);
}

std::unique_ptr<Trainer> trainer_of(const char* algorithm, LocalOptimizerKind optimizer) {
  Options options;
  options.algorithm = algorithm_named(algorithm);
  options.codec = wire_form_named("f64");
  options.local_optimizer = optimizer;
  options.weight_decay = 1;
  return make_relay<double>(options, [] { return Time{}; });
}

Done assign(Trainer& trainer) {
  Job job;
  job.shard = std::make_shared<const Shard>();
  return trainer.run(job);
}

Done adopt(Trainer& trainer, Payload snapshot, std::vector<std::string> foundation = {}) {
  Job job;
  job.adopt = std::move(snapshot);
  if (!foundation.empty())
    job.foundation = std::make_shared<const std::vector<std::string>>(std::move(foundation));
  return trainer.run(job);
}

}  // namespace

TEST_CASE("A relay moves by terms and corrections alone") {
  RelayLearner<double> learner("a model", one_block(3));
  const Vector x = {1, 2, 3}, c(3, 2.0);
  const Scaled<double> term{1, c};
  Vector end(3), sum(3), direction(3, 9);
  const Report report =
      learner.advance(x, {.count = 4, .learning_rate = 0.5}, {.end = end, .sum = sum});
  CHECK(report.steps == 0);
  CHECK(report.refusal.empty());
  CHECK(end == x);
  CHECK(sum == Vector(3));
  learner.advance(x, {.count = 4, .learning_rate = 0.5, .correction = {&term, 1}},
                  {.end = end, .sum = sum});
  CHECK(end == Vector{5, 6, 7});
  CHECK(sum == Vector(3, 4.0));
  // What gradient tracking sends is its share of the sum, though it takes no step by it.
  learner.advance(x, {.learning_rate = 0.5, .added = {&term, 1}},
                  {.end = end, .direction = direction});
  CHECK(end == x);
  CHECK(direction == c);
  // The minimum of <c, x> + (mu / 2) ||x - v||^2.
  learner.advance(x, {.linear = c, .mu = 4, .is_exact = true}, {.end = end});
  CHECK(end == Vector(3, -0.5));
  learner.advance(x, {.linear = c, .anchor = x, .mu = 4}, {.end = end});
  CHECK(end == Vector{0.5, 1.5, 2.5});
}

TEST_CASE("A relay takes the shape of the model that it adopts and gives it to others") {
  const auto trainer = trainer_of("qg", LocalOptimizerKind::sgd);
  Done done = assign(*trainer);
  REQUIRE(done.workload);
  CHECK(done.workload->needs_model);
  CHECK(done.workload->survey.empty());
  CHECK(trainer->parameters().empty());
  const Vector x = {1, 2, 3};
  Vector m = {4, 5, 6};
  State<double> state;
  state.add("algorithm", {.vectors = {{"m", m}}});
  done = adopt(*trainer, snapshot_of(x, "qg sgd", state), {"what all know"});
  CHECK_FALSE(done.problem);
  REQUIRE(done.workload);
  CHECK_FALSE(done.workload->needs_model);
  CHECK(done.workload->notes.empty());
  CHECK(done.workload->schema == "a model");
  CHECK(done.workload->foundation == "what all know");
  CHECK(done.workload->payload_bytes > 0);
  CHECK(trainer->parameters() == x);
  Job copy;
  copy.round = 1;
  copy.snapshot = true;
  done = trainer->run(copy);
  const auto given = decode_saved_state(done.snapshot);
  REQUIRE(given);
  CHECK(given->schema == "a model");
  CHECK(given->state.size() == 1);
  CHECK(*load_parameters<double>(*given, one_block(3)) == x);
}

TEST_CASE("A relay takes no step and counts none whatever the optimizer of the others") {
  for (const auto optimizer : {LocalOptimizerKind::sgd, LocalOptimizerKind::momentum,
                               LocalOptimizerKind::adam, LocalOptimizerKind::adamw}) {
    const auto trainer = trainer_of("gt", optimizer);
    assign(*trainer);
    const Vector x = {1, 2, 3};
    CHECK_FALSE(adopt(*trainer, snapshot_of(x, "gt adam")).problem);
    Job round;
    round.round = 1;
    round.local = round.offer = true;
    round.local_steps = 5;
    const Done done = trainer->run(round);
    CHECK_FALSE(done.problem);
    CHECK(done.stats.steps == 0);
    CHECK(done.stats.samples == 0);
    CHECK(done.stats.path > 0);
    CHECK(trainer->parameters() == x);
  }
}

TEST_CASE("A relay that cannot take a model goes on without one") {
  const auto trainer = trainer_of("dpsgd", LocalOptimizerKind::sgd);
  assign(*trainer);
  const Vector broken = {1, std::numeric_limits<double>::quiet_NaN()};
  CHECK(adopt(*trainer, snapshot_of(broken, "dpsgd sgd")).problem);
  CHECK(trainer->workload().needs_model);
  CHECK_FALSE(adopt(*trainer, snapshot_of(Vector{1, 2}, "dpsgd sgd")).problem);
  CHECK(trainer->parameters() == Vector{1, 2});
}
