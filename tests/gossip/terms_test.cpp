#include "gossip/members/terms.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gossip/wire/wire.h"

using namespace starling;
using namespace starling::gossip;

namespace {

std::string value_of(const Options& options, const std::string& key) {
  for (const auto& [name, value] : agreed(options))
    if (name == key) return value;
  return "no value";
}

Options with(const std::string& value) {
  Options options;
  options.terms = {{"data.target", value}};
  return options;
}

}  // namespace

TEST_CASE("The agreement is that of the keys and the values") {
  const std::vector<Term> terms = {{"a.b", "c"}, {"d.e", ""}};
  CHECK(agreement_of(terms) == agreement_of({{"a.b", "c"}, {"d.e", ""}}));
  CHECK(agreement_of(terms) != agreement_of({{"a.b", "c"}}));
  CHECK(agreement_of(terms) != agreement_of({{"a.b", ""}, {"d.e", "c"}}));
  CHECK(agreement_of(terms) != agreement_of({{"a.bc", ""}, {"d.e", ""}}));
}

TEST_CASE("A difference names the keys and both values") {
  const std::vector<Term> own = {{"a", "1"}, {"b", ""}, {"c", "x"}};
  CHECK(difference({{"a", "2"}, {"b", ""}, {"c", "x"}}, own) == "it has a=2; this node 1");
  CHECK(difference({{"a", "2"}, {"b", "y"}, {"c", "z"}}, own) ==
        "it has a=2, b=y and c=z; this node 1, \"\" and x");
  CHECK(difference({{"a", "1"}, {"c", "x"}, {"d", "5"}}, own) ==
        "it does not say its b and has d, and this node has not");
}

TEST_CASE("Of many differences the first are named and the rest counted") {
  std::vector<Term> own, theirs;
  for (char key = 'a'; key < 'a' + 12; ++key) {
    own.emplace_back(std::string(1, key), "1");
    theirs.emplace_back(std::string(1, key), "2");
  }
  CHECK(difference(theirs, own) ==
        "it has a=2, b=2, c=2, d=2, e=2, f=2, g=2, h=2 and 4 more; this node 1, 1, 1, 1, 1, 1, 1 "
        "and 1");
}

TEST_CASE("A value that is long or not printable is shortened and keeps its identity") {
  CHECK(value_of(with("price"), "data.target") == "price");
  const std::string at_limit(96, 'x'), longer(97, 'x');
  CHECK(value_of(with(at_limit), "data.target") == at_limit);
  CHECK(value_of(with(longer), "data.target").starts_with(at_limit + "... (#"));
  CHECK(value_of(with(longer + "a"), "data.target") != value_of(with(longer + "b"), "data.target"));
  CHECK(value_of(with("a\tb"), "data.target").starts_with("a b... (#"));
  CHECK(value_of(with("a\tb"), "data.target") != value_of(with("a\nb"), "data.target"));
  // Two bytes a letter: none is cut in half.
  std::string umlauts = "x";
  for (int k = 0; k < 60; ++k) umlauts += "\xc3\xbc";
  const std::string shown = value_of(with(umlauts), "data.target");
  CHECK(shown.substr(0, shown.find('.')).size() == 95);
  for (const std::string& text : {longer, umlauts})
    CHECK(value_of(with(text), "data.target").size() <= kNameBytesLimit);
}
