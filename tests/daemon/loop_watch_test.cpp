#include "daemon/attach/loop_watch.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace starling;
using namespace starling::daemon;

namespace {

// Three numbers of a, two of a statistic, two of b and two of c, the last of which is frozen.
TensorTable table() {
  return *TensorTable::parse(
      R"([{"name":"a","shape":[3],"dtype":"f64","role":"averaged","offset":0},)"
      R"({"name":"mean","shape":[2],"dtype":"f64","role":"statistic","offset":64},)"
      R"({"name":"b","shape":[2],"dtype":"f64","role":"averaged","offset":128},)"
      R"({"name":"c","shape":[2],"dtype":"f64","role":"averaged","offset":192,"frozen":true}])",
      256);
}

// Rounds of a loop that was given zeros, looked at in parts of two numbers.
struct Rounds {
  explicit Rounds(bool is_corrected = true) {
    watch.begin({.optimizer = "SGD"}, table(), is_corrected);
  }
  LoopWatch::Finding end(const std::vector<double>& moved, TrainerAnswer answer,
                         std::size_t count = 4) {
    std::vector<double> after(9), before(9);
    for (const double place : moved) after[static_cast<std::size_t>(place)] = 1;
    for (std::size_t k = 0; k < 9; k += 2) {
      const std::size_t size = k < 8 ? 2 : 1;
      watch.compare<double>(k, std::span(before).subspan(k, size),
                            std::span(after).subspan(k, size));
    }
    loss -= 0.5;
    if (!answer.loss) answer.loss = loss;
    return watch.end(answer, count);
  }

  LoopWatch watch;
  double loss = 100;
};

}  // namespace

TEST_CASE("A loop whose loss changes while nothing moves is named at once and refused after ten") {
  Rounds rounds;
  CHECK(rounds.end({0}, {}).fault.empty());
  for (int round = 1; round <= 12; ++round) {
    const auto found = rounds.end({3, 4}, {});  // the statistic alone
    CHECK(found.fault ==
          "steps are taken and the loss changes, but no tensor that was attached moves (a, …): a "
          "copy of the model is trained");
    CHECK(found.is_lasting == (round >= 10));
  }
  CHECK(rounds.end({8}, {}).fault.empty());
  CHECK_FALSE(rounds.end({}, {}).is_lasting);
}

TEST_CASE("A loop at its end or at a rate of zero may stand still") {
  Rounds ended, warming;
  for (int round = 1; round <= 30; ++round) {
    CHECK(ended.end({}, {.loss = 0.25}).fault.empty());
    const auto found = warming.end({}, {.learning_rate = 0.0});
    CHECK(found.fault.empty());
    CHECK(found.note ==
          (round == 20 ? "the learning rate of its trainer has been 0 for 20 rounds" : ""));
  }
}

TEST_CASE(
    "A loop that has moved may stand still while its loss hardly changes or its rate is tiny") {
  Rounds ended, annealed;
  CHECK(ended.end({0}, {.loss = 2.0}).fault.empty());
  CHECK(annealed.end({0}, {.learning_rate = 0.1}).fault.empty());
  for (int round = 0; round < 30; ++round) {
    CHECK(ended.end({}, {.loss = 1e-9 * round}).fault.empty() == (round > 0));
    CHECK(annealed.end({}, {.learning_rate = 1e-6}).fault.empty());
  }
}

TEST_CASE("A loop whose optimizer takes no step is named after five and refused after twenty") {
  for (const std::size_t count : {1, 4}) {
    Rounds rounds;
    for (std::size_t round = 1; round <= 25; ++round) {
      const auto found = rounds.end({3}, {.steps = 0}, count);
      CHECK(found.fault.empty() == (round * count < 5));
      CHECK(found.is_lasting == (round >= 10 && round * count >= 20));
    }
    // One that says so may.
    CHECK(rounds.end({}, {.steps = 0, .left_out = count}, count).fault.empty());
  }
}

TEST_CASE("A loop that another optimizer steps is named where its steps are corrected") {
  Rounds corrected;
  CHECK(corrected.end({0}, {.steps = 0}).fault ==
        "the tensors move, but not by the optimizer that was handed over (SGD), whose steps are "
        "corrected");
  Rounds free(false);
  for (int round = 0; round < 12; ++round) CHECK(free.end({0}, {.steps = 0}).fault.empty());
}

TEST_CASE("Tensors that have not moved in ten rounds are named once and frozen ones are not") {
  Rounds rounds;
  for (int round = 1; round <= 20; ++round) {
    const auto found = rounds.end({2}, {});
    CHECK(found.note.empty() == (round != 10));
    if (round == 10)
      CHECK(
          found.note.starts_with("1 of 3 tensors have not moved in 10 rounds of "
                                 "steps (b): "));
  }
  Rounds all;
  for (int round = 1; round <= 20; ++round)
    CHECK(all.end({round == 3 ? 6.0 : 0.0}, {}).note.empty());
}
