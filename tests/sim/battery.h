// What every algorithm is asked: the rows of the battery, and the reference problem in float and
// double to ask them on.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "optim/saved_state.h"
#include "tests/lengths.h"
#include "tests/sim/lockstep.h"

namespace starling::test {

struct Row {
  std::string name;
  const optim::AlgorithmRow* algorithm = optim::algorithm_named("dpsgd");
  double rate = 0.3;
  std::uint64_t rounds = 400;  // on the torus, until nothing moves beyond 1e-10
  bool is_exact = false;
  std::size_t local_steps = 1;
  bool has_closed_form = true;  // of the objective
  optim::OuterKind outer = optim::OuterKind::none;
};

inline const std::vector<Row>& all_rows() {
  using optim::algorithm_named;
  static const std::vector<Row> rows = {
      {"dpsgd", algorithm_named("dpsgd")},
      {"dpsgd-pipelined", algorithm_named("dpsgd-pipelined")},
      {"qg", algorithm_named("qg"), 0.3, 800},
      {"dpsgd with an outer step", algorithm_named("dpsgd"), 0.1, 800, false, 1, true,
       optim::OuterKind::nesterov},
      {"noloco", algorithm_named("noloco"), 0.3, 400},
      {"ed", algorithm_named("ed"), 0.5, 250, true},
      {"ed with five local steps", algorithm_named("ed"), 0.3, 150, true, 5},
      {"gt", algorithm_named("gt"), 0.5, 250, true},
      {"gt with five local steps", algorithm_named("gt"), 0.1, 250, true, 5},
      {"extra", algorithm_named("extra"), 0.3, 400, true},
      {"extra with five local steps", algorithm_named("extra"), 0.1, 400, true, 5},
      {"push-pull", algorithm_named("push-pull"), 0.3, 400, true},
      {"push-pull with five local steps", algorithm_named("push-pull"), 0.1, 400, true, 5},
      {"adpsgd", algorithm_named("adpsgd")},
      {"pairwise-ed", algorithm_named("pairwise-ed"), 0.5, 250, true},
      {"admm", algorithm_named("admm"), 0.5, 150, true},
      {"admm by a gradient step", algorithm_named("admm"), 0.5, 450, true, 1, false},
      {"admm by five gradient steps", algorithm_named("admm"), 0.5, 150, true, 5, false},
  };
  return rows;
}

// Each row that `applies` is a subcase; in the short form, of one local step.
template <class Claim, class Test>
void for_rows(Claim applies, Test test) {
  for (const Row& row : all_rows()) {
    if (!applies(row) || (!tries_full() && row.local_steps > 1)) continue;
    SUBCASE(row.name.c_str()) {
      test(row);
    }
  }
}
inline bool is_exact(const Row& row) {
  return row.is_exact;
}
inline bool is_any(const Row&) {
  return true;
}
inline auto is_one_of(std::vector<std::string> names) {
  return [=](const Row& row) { return std::ranges::find(names, row.name) != names.end(); };
}

// How near to the truth, which is of size 2, a run ends: in single precision at a few roundings.
template <class S>
constexpr double kAccuracy = std::is_same_v<S, float> ? 5e-6 : 1e-10;
// How near to each other two ways are to compute a few rounds of the same.
template <class S>
constexpr double kRounding = std::is_same_v<S, float> ? 2e-6 : 1e-13;

template <class S>
const optim::Format* const kFormat = optim::format_named(sizeof(S) == 4 ? "f32" : "f64");

template <class S>
Lockstep lockstep_of(const Row& row, topology::Kind kind = topology::Kind::torus,
                     const ReferenceShape& shape = {}, const optim::Format* format = kFormat<S>) {
  optim::Options training = reference_training(row.rate);
  training.algorithm = row.algorithm;
  training.local_steps.fixed = row.local_steps;
  training.outer = row.outer;
  training.penalty = 0.2;
  training.codec = {.format = format};
  return {kind, shape.n, training, [=](std::size_t i) {
            return optim::make_trainer<S>(training,
                                          reference_objective_in<S>(shape, i, row.has_closed_form),
                                          i, [] { return Time{}; });
          }};
}

// A model of its own for each node.
template <class S>
void scatter(Lockstep& lockstep, std::uint64_t seed) {
  for (const std::size_t node : lockstep.present()) {
    const optim::Trainer& trainer = lockstep.trainer(node);
    std::vector<S> x(trainer.optimum().size());
    Prng prng = Prng::derive(seed, node);
    for (S& value : x) value = static_cast<S>(prng.uniform(-2, 2));
    optim::SavedState model = *optim::decode_saved_state(lockstep.snapshot(node));
    model.kind.clear();
    REQUIRE(model.parameters.size() == 1);
    model.parameters[0].bytes = Payload::copy_of(std::as_bytes(std::span(x)));
    lockstep.adopt(node, optim::encode(model));
  }
}

using Vector = std::vector<double>;

inline std::vector<Vector> models_of(const Lockstep& lockstep) {
  std::vector<Vector> models;
  for (const std::size_t node : lockstep.present())
    models.push_back(lockstep.trainer(node).parameters());
  return models;
}

inline Vector mean(const std::vector<Vector>& vectors) {
  Vector mean(vectors.front().size());
  for (const Vector& vector : vectors)
    for (std::size_t k = 0; k < mean.size(); ++k)
      mean[k] += vector[k] / static_cast<double>(vectors.size());
  return mean;
}

inline double distance(const Vector& a, const Vector& b) {
  double squared = 0;
  for (std::size_t k = 0; k < a.size(); ++k) squared += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(squared);
}

// The largest distance of a node in one run from itself in the other.
inline double distance(const Lockstep& one, const Lockstep& other) {
  double most = 0;
  for (const std::size_t node : one.present())
    most =
        std::max(most, distance(one.trainer(node).parameters(), other.trainer(node).parameters()));
  return most;
}

// g_i(x_i) for each node of P1 (docs/algorithms.md), in double.
inline std::vector<Vector> gradients(const std::vector<Vector>& models) {
  std::vector<Vector> gradients;
  for (std::size_t i = 0; i < models.size(); ++i) {
    static const ReferenceShape shape;
    static std::vector<std::unique_ptr<optim::Objective<double>>> objectives;
    if (objectives.size() <= i) objectives.push_back(reference_objective(shape, i));
    gradients.emplace_back(models[i].size());
    objectives[i]->loss_and_gradient(models[i], {}, gradients.back());
  }
  return gradients;
}

}  // namespace starling::test
