// What several models say of the same rows together.
#include "models/ensemble.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

Opinion amounts(const std::string& model, std::vector<double> of_rows) {
  Opinion opinion{.model = model, .predictions = {}};
  opinion.predictions.rows = of_rows.size();
  opinion.predictions.amounts = std::move(of_rows);
  return opinion;
}

// Of one row.
Opinion classes(const std::string& model, std::vector<std::string> names,
                std::vector<double> probabilities) {
  Opinion opinion{.model = model, .classes = std::move(names), .predictions = {}};
  opinion.predictions.rows = 1;
  const auto best = std::ranges::max_element(probabilities) - probabilities.begin();
  opinion.predictions.likeliest = {static_cast<std::uint32_t>(best)};
  opinion.predictions.probabilities = std::move(probabilities);
  return opinion;
}

std::string refusal(const std::vector<Opinion>& opinions, Poll poll = Poll::mean) {
  const auto joint = join_opinions(opinions, poll);
  return joint ? std::string() : joint.error().text;
}

}  // namespace

TEST_CASE("Models together say the mean of their amounts and how far apart these are") {
  const std::vector<Opinion> opinions{amounts("a", {1, 5}), amounts("b", {3, 5})};
  const JointOpinion joint = value_of(join_opinions(opinions, Poll::mean));
  CHECK(joint.predictions.amounts == std::vector<double>{2, 5});
  CHECK(joint.predictions.spread == std::vector<double>{1, 0});
  CHECK(refusal(opinions, Poll::vote).find("no votes") != std::string::npos);
}

// Two are a little for "no", one is sure of "yes".
TEST_CASE("The mean counts how sure models are and a vote does not") {
  const std::vector<Opinion> opinions{classes("a", {"no", "yes"}, {.6, .4}),
                                      classes("b", {"no", "yes"}, {.6, .4}),
                                      classes("c", {"no", "yes"}, {.0, 1.})};
  const JointOpinion mean = value_of(join_opinions(opinions, Poll::mean));
  CHECK(mean.predictions.likeliest == std::vector<std::uint32_t>{1});
  CHECK(mean.predictions.probabilities[1] == doctest::Approx(.6));
  CHECK(mean.predictions.spread[0] == doctest::Approx(.2828).epsilon(1e-3));
  const JointOpinion vote = value_of(join_opinions(opinions, Poll::vote));
  CHECK(vote.predictions.likeliest == std::vector<std::uint32_t>{0});
  CHECK(vote.predictions.probabilities[0] == doctest::Approx(2. / 3));
}

TEST_CASE("Equal votes go to the class of which the models are surer") {
  const std::vector<Opinion> opinions{classes("a", {"no", "yes"}, {.6, .4}),
                                      classes("b", {"no", "yes"}, {.1, .9})};
  const JointOpinion vote = value_of(join_opinions(opinions, Poll::vote));
  CHECK(vote.predictions.likeliest == std::vector<std::uint32_t>{1});
}

// A class that a model does not know has no probability by it.
TEST_CASE("Models of other classes are joined over all of them") {
  const std::vector<Opinion> opinions{classes("a", {"cat", "dog"}, {.3, .7}),
                                      classes("b", {"cat", "emu"}, {.1, .9})};
  const JointOpinion joint = value_of(join_opinions(opinions, Poll::mean));
  CHECK(joint.classes == std::vector<std::string>{"cat", "dog", "emu"});
  CHECK(joint.predictions.likeliest == std::vector<std::uint32_t>{2});
  CHECK(joint.predictions.probabilities[1] == doctest::Approx(.35));
}

TEST_CASE("Models that do not go together are named") {
  const Opinion other = amounts("b", {1, 2, 3});
  CHECK(refusal({amounts("a", {1, 2}), other}).find("a has 2 rows, and b 3") != std::string::npos);
  CHECK(refusal({classes("a", {"no", "yes"}, {.5, .5}), amounts("b", {1})})
            .find("a predicts classes, and b amounts") != std::string::npos);
}
