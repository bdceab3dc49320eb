#include "optim/codec/ladder.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "optim/options.h"

using namespace starling;
using namespace starling::optim;

namespace {

Options with(WireForm form) {
  Options options;
  options.codec = std::move(form);
  return options;
}

std::vector<std::size_t> shortenings(const WireForm& form) {
  std::vector<std::size_t> all;
  for (const EncodingChoice& choice : encodings_of(with(form))) all.push_back(choice.shortening);
  return all;
}

}  // namespace

TEST_CASE("Only a chosen form has choices and they go from its own numbers to half a byte") {
  for (const std::string& name : wire_form_names()) {
    CAPTURE(name);
    CHECK(encodings_of(with(wire_form_named(name))).empty() == (name != "auto"));
  }
  WireForm form = wire_form_named("auto");
  CHECK(shortenings(form) == std::vector<std::size_t>{1, 2, 4, 8});
  CHECK(encodings_of(with(form)).front().name == "f32");
  CHECK(encodings_of(with(form)).back().name == "i4");
  form.format = format_named("f64");
  CHECK(shortenings(form) == std::vector<std::size_t>{1, 4, 8, 16});
  CHECK(encodings_of(with(form)).front().name == "f64");
}

TEST_CASE("The rung for a shortening is the longest that reaches it") {
  const WireForm form = wire_form_named("auto");
  const std::vector<std::size_t> expected{0, 0, 1, 2, 2, 3, 3, 3, 3, 3};
  for (std::size_t shortening = 0; shortening < expected.size(); ++shortening)
    CHECK(rung_for(form, shortening) == expected[shortening]);
  CHECK(rung_for(form, 1'000'000) == rung_count() - 1);
}
