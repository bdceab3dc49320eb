#include "models/trial_fit.h"

#include <doctest/doctest.h>

#include <cmath>

#include "models/data/table_builder.h"

using namespace starling;
using models::Content;

namespace {

// One column x from -1 to 1, and y = |x|; `held_out` rows of 200 are not trained on.
std::shared_ptr<const models::Data> bend(std::size_t held_out) {
  models::TableBuilder builder(
      {.columns = {{"x", models::plain_form(Content::numbers)}}, .target = "y"});
  auto data = std::make_shared<models::Data>();
  for (std::size_t i = 0; i < 200; ++i) {
    const double x = static_cast<double>(i * 7 % 200) / 100 - 1;
    const std::vector<models::Cell> cells{{fmt::to_string(x)}, {fmt::to_string(std::abs(x))}};
    REQUIRE(builder.add(cells, i < held_out ? data->test : data->train));
  }
  builder.finish(data->train);
  builder.finish(data->test);
  return data;
}

models::LearnerOptions options() {
  models::LearnerOptions options;
  options.data.source = models::Source::csv;
  return options;
}

}  // namespace

TEST_CASE("A trial fit of a bend shows that a linear model cannot have it") {
  const std::string text = models::trial_fits(options(), bend(50));
  CAPTURE(text);
  double linear = 0, mlp = 0, mean = 0;
  REQUIRE(std::sscanf(text.c_str(),
                      "in 1,000 steps in one place: linear %lf, mlp %lf, the mean %lf", &linear,
                      &mlp, &mean) == 3);
  CHECK(mean > 0.2);
  CHECK(linear > 0.2);
  CHECK(mlp < 0.05);
}

TEST_CASE("Nothing is fitted without held-out rows") {
  CHECK(models::trial_fits(options(), bend(0)).empty());
}
