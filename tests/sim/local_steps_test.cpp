// Many local steps between two exchanges, on the reference problem: the numbers that independent
// implementations of the equations of docs/algorithms.md have too, to their digits.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;
using optim::algorithm_named, optim::OuterKind;
using topology::Kind;

namespace {

constexpr std::uint64_t kMatchings = 77;  // the seed
constexpr bool kByPartners = true;

struct Method {
  std::string algorithm;
  OuterKind outer = OuterKind::none;
  bool has_adam = false;
};
const Method kDiloco{"dpsgd", OuterKind::nesterov};
const Method kSlowmo{"dpsgd", OuterKind::slowmo};
const Method kNoloco{"noloco"};
const Method kLed{"ed"};
const Method kKgt{"gt", OuterKind::none, true};

// Errors after the first round, ten rounds and `rounds`.
struct Trace {
  Method method;
  Kind kind;
  bool is_matched;
  std::size_t local_steps;
  double rate;
  std::uint64_t rounds;
  std::array<double, 3> errors;
};

optim::Options training_of(const Trace& trace) {
  optim::Options training = reference_training(trace.rate);
  training.algorithm = algorithm_named(trace.method.algorithm);
  training.outer = trace.method.outer;
  training.local_steps.fixed = trace.local_steps;
  if (!trace.method.has_adam) return training;
  training.local_optimizer = optim::LocalOptimizerKind::adam;
  training.adam_beta2 = 0.95;
  training.schedule = {.shape = optim::Schedule::Shape::cosine,
                       .rounds = static_cast<double>(trace.rounds)};
  return training;
}

// To nine digits, small ones to five.
void check_error(double found, double known) {
  CHECK(found == doctest::Approx(known).epsilon(known > 1e-3 ? 2e-9 : 1e-5));
}

void check_trace(const Trace& trace, const ReferenceShape& shape = {}) {
  CAPTURE(trace.method.algorithm);
  CAPTURE(trace.local_steps);
  CAPTURE(std::string(topology::to_string(trace.kind)));
  CAPTURE(shape.n);
  Lockstep lockstep(trace.kind, training_of(trace), shape);
  if (trace.is_matched) lockstep.follow("matching", kMatchings);
  std::uint64_t round = 0;
  for (const std::size_t k : {0U, 1U, 2U}) {
    const std::uint64_t until = std::array<std::uint64_t, 3>{1, 10, trace.rounds}[k];
    if (k == 2 && !tries_full()) return;
    lockstep.run(until - round);
    round = until;
    check_error(lockstep.error(), trace.errors[k]);
  }
}

}  // namespace

TEST_CASE("An outer step is DiLoCo where all are neighbours and gossip elsewhere") {
  for (const Trace& trace : std::vector<Trace>{
           {kDiloco, Kind::complete, false, 5, .1, 100, {1.546038381, .6435659220, .01591614773}},
           {kDiloco, Kind::complete, false, 20, .1, 100, {.8375973384, .2214860195, .06514320979}},
           {kSlowmo, Kind::complete, false, 5, .1, 100, {1.637881784, .2963643501, .01590344454}},
           {kDiloco, Kind::ring, false, 5, .1, 100, {1.577110401, 1.243803097, .8756300441}}})
    check_trace(trace);
}

TEST_CASE("NoLoCo takes its known way") {
  for (const Trace& trace : std::vector<Trace>{
           {kNoloco,
            Kind::complete,
            kByPartners,
            5,
            .1,
            100,
            {1.732659329, .4796785833, .4512352722}},
           {kNoloco,
            Kind::complete,
            kByPartners,
            20,
            .1,
            100,
            {1.442148044, .8144223833, .9729079160}},
           {kNoloco, Kind::ring, false, 5, .1, 100, {1.729258214, .8765864783, .8756270343}}})
    check_trace(trace);
}

TEST_CASE("NoLoCo without its pull lets the models fly apart") {
  optim::Options training = reference_training(.1);
  training.algorithm = algorithm_named("noloco");
  training.local_steps.fixed = 5;
  training.outer_pull = 0;
  Lockstep lockstep(Kind::complete, training);
  lockstep.follow("matching", kMatchings);
  lockstep.run(100);
  CHECK(lockstep.error() == doctest::Approx(1.949).epsilon(3e-4));
}

TEST_CASE("Exact diffusion with many corrected steps takes its known way") {
  for (const Trace& trace : std::vector<Trace>{
           {kLed, Kind::ring, false, 5, .1, 100, {1.662385196, .6801560780, 6.235632504e-4}},
           {kLed, Kind::torus, false, 5, .1, 100, {1.656063786, .3941457575, 7.096098519e-7}},
           {kLed,
            Kind::complete,
            kByPartners,
            5,
            .1,
            100,
            {1.667598841, .4291833557, 1.026987993e-5}},
           {kLed,
            Kind::complete,
            kByPartners,
            20,
            .1,
            100,
            {1.377285525, .2839033036, 8.852750554e-8}}})
    check_trace(trace);
}

TEST_CASE("Exact diffusion with many corrected steps ends in the optimum") {
  struct End {
    Kind kind;
    bool is_matched;
    std::size_t local_steps;
    double most;
  };
  for (const End& end :
       {End{Kind::ring, false, 5, 5.4e-12}, End{Kind::ring, false, 20, 1.74e-5},
        End{Kind::torus, false, 5, 1e-13}, End{Kind::torus, false, 20, 1e-13},
        End{Kind::complete, kByPartners, 5, 1e-13}, End{Kind::complete, kByPartners, 20, 1e-13}}) {
    CAPTURE(end.local_steps);
    Lockstep lockstep(end.kind,
                      training_of({kLed, end.kind, end.is_matched, end.local_steps, .1, 400, {}}));
    if (end.is_matched) lockstep.follow("matching", kMatchings);
    lockstep.run(full_or<std::uint64_t>(400, 10));
    if (tries_full()) CHECK(lockstep.error() < end.most);
  }
}

TEST_CASE("With adam inside only the correction before it ends near the optimum") {
  for (const Trace& trace : std::vector<Trace>{
           {kKgt,
            Kind::complete,
            kByPartners,
            5,
            .05,
            100,
            {1.614507921, .4421524260, 1.972890630e-3}},
           {kKgt, Kind::torus, false, 5, .05, 100, {1.562839505, .2493742437, 3.774332574e-3}},
           {kKgt,
            Kind::complete,
            kByPartners,
            20,
            .05,
            100,
            {1.421388771, .8086644671, 7.488021370e-3}}})
    check_trace(trace);
  if (!tries_full()) return;
  const auto end = [](const Method& method, Kind kind, bool is_matched, std::size_t local_steps) {
    Lockstep lockstep(kind, training_of({method, kind, is_matched, local_steps, .05, 400, {}}));
    if (is_matched) lockstep.follow("matching", kMatchings);
    lockstep.run(400);
    return lockstep.error();
  };
  CHECK(end(kKgt, Kind::complete, kByPartners, 5) == doctest::Approx(.00007).epsilon(.08));
  CHECK(end(kKgt, Kind::complete, kByPartners, 20) == doctest::Approx(.0004).epsilon(.08));
  CHECK(end(kKgt, Kind::torus, false, 5) == doctest::Approx(.00029).epsilon(.02));
  CHECK(end(kKgt, Kind::torus, false, 20) == doctest::Approx(.0009).epsilon(.05));
  CHECK(end({"dpsgd", OuterKind::nesterov, true}, Kind::complete, false, 5) > .2);
  CHECK(end({"noloco", OuterKind::none, true}, Kind::complete, kByPartners, 20) > .2);
}

TEST_CASE("On other shapes too the algorithms do what their equations say") {
  const ReferenceShape small{.n = 10, .d = 4, .m = 12, .h = .5, .noise = .3, .seed = 7};
  for (const Trace& trace : std::vector<Trace>{
           {kDiloco, Kind::complete, false, 3, .1, 60, {.8579679271, .3762073351, 2.770203548e-3}},
           {kSlowmo, Kind::ring, false, 4, .1, 60, {.8629938687, .2457979947, .1845018464}},
           {kNoloco,
            Kind::complete,
            kByPartners,
            7,
            .1,
            60,
            {.8439943462, .1906193507, .1751210637}},
           {kLed,
            Kind::complete,
            kByPartners,
            4,
            .1,
            60,
            {.8655521887, .2109326643, 1.783627027e-4}},
           {kLed, Kind::ring, false, 10, .05, 60, {.8353761149, .1532047431, 4.012907693e-4}},
           {kKgt,
            Kind::complete,
            kByPartners,
            6,
            .05,
            60,
            {.6448925102, .1403813300, 1.871567412e-3}}})
    check_trace(trace, small);
  const ReferenceShape odd{.n = 7, .d = 13, .m = 25, .h = 1.5, .noise = 0, .seed = 42};
  for (const Trace& trace : std::vector<Trace>{
           {kDiloco, Kind::complete, false, 3, .1, 60, {2.367397790, .9171663083, .01770751109}},
           {kSlowmo, Kind::ring, false, 4, .1, 60, {2.380627343, .6048197582, .4307655701}},
           {kNoloco,
            Kind::complete,
            kByPartners,
            7,
            .1,
            60,
            {2.345596613, .8609743855, .6607741414}},
           {kLed, Kind::ring, false, 10, .05, 60, {2.319206822, .5568713866, 1.224990250e-3}},
           {kKgt,
            Kind::complete,
            kByPartners,
            6,
            .05,
            60,
            {2.192362400, .5890167976, 6.356412758e-3}}})
    check_trace(trace, odd);
}

TEST_CASE("Exact algorithms are exact by partners on any graph and with one node too many") {
  for (const std::string name : {"ed", "gt", "extra"})
    for (const Kind kind : {Kind::ring, Kind::random, Kind::complete}) {
      CAPTURE(name);
      CAPTURE(std::string(topology::to_string(kind)));
      Lockstep lockstep(kind, training_of({{name}, kind, kByPartners, 5, .1, 0, {}}), {.n = 7});
      lockstep.follow("matching");
      lockstep.run(full_or<std::uint64_t>(600, 10));
      if (tries_full()) CHECK(lockstep.error() < 1e-10);
    }
}

TEST_CASE("Nodes that exchange by partners do over messages what they do without") {
  for (const Method& method : {kNoloco, kLed}) {
    CAPTURE(method.algorithm);
    const Trace trace{method, Kind::complete, kByPartners, 5, .1, 40, {}};
    const optim::Options training = training_of(trace);
    Lockstep lockstep(trace.kind, training);
    lockstep.follow("matching", kMatchings);
    lockstep.run(full_or<std::uint64_t>(40, 10));
    sim::Options options = reference_world(16, trace.kind, training);
    options.base.topology.sequence = *topology::parse_sequence("matching");
    options.base.topology.seed = kMatchings;
    options.base.expect = 16;
    options.base.goal.rounds = full_or<std::uint64_t>(40, 10);
    Cluster cluster(options, training);
    cluster.start_all();
    const auto are_done = [&] {
      for (std::size_t node = 0; node < 16; ++node)
        if (cluster.round(node) < options.base.goal.rounds) return false;
      return true;
    };
    CHECK(cluster.comes_true(are_done, 60s));
    for (std::size_t node = 0; node < 16; ++node) {
      const std::vector<double> x = cluster.world.trainer(node).parameters(),
                                known = lockstep.trainer(node).parameters();
      for (std::size_t k = 0; k < x.size(); ++k)
        CHECK(x[k] == doctest::Approx(known[k]).epsilon(1e-9));
    }
  }
}
