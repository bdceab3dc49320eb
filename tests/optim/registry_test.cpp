#include "optim/algorithms/registry.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "optim/algorithms/algorithm.h"

using namespace starling;
using namespace starling::optim;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(STARLING_ROOT) + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("Every algorithm has a name of its own and is found by it") {
  std::set<std::string_view> names;
  for (const AlgorithmRow& row : algorithms()) {
    CHECK(names.insert(row.name).second);
    CHECK(find_algorithm(row.name) == &row);
    CHECK(row.name != "auto");
    if (!row.alias.empty()) CHECK(names.insert(row.alias).second);
  }
  CHECK(find_algorithm("auto") == nullptr);
}

TEST_CASE("Every algorithm has its row in the documentation") {
  const std::string text = text_of("/docs/algorithms.md");
  REQUIRE_FALSE(text.empty());
  for (const AlgorithmRow& row : algorithms()) {
    CAPTURE(row.name);
    CHECK(text.find(fmt::format("\n| `{}` | ", row.name)) != std::string::npos);
  }
}

TEST_CASE("Every algorithm has a card of at most 150 words with a command") {
  const std::string text = text_of("/docs/choosing.md");
  for (const AlgorithmRow& row : algorithms()) {
    CAPTURE(row.name);
    const std::size_t start = text.find(fmt::format("\n### {}\n", row.name));
    REQUIRE(start != std::string::npos);
    std::istringstream card(text.substr(start + 1, text.find("\n##", start + 1) - start - 1));
    std::string mark, name, word;
    card >> mark >> name;
    std::size_t words = 0;
    while (card >> word) ++words;
    CHECK(words <= 150);
    CHECK(card.str().find("\n      starling ") != std::string::npos);
  }
}

TEST_CASE("The counterpart of an algorithm exchanges the other way") {
  for (const AlgorithmRow& row : algorithms()) {
    CAPTURE(row.name);
    const AlgorithmRow* const counterpart = find_algorithm(row.counterpart);
    REQUIRE(counterpart);
    CHECK(counterpart->needs.is_pairwise != row.needs.is_pairwise);
  }
}

// One round of two nodes without steps.
TEST_CASE("A model moves by as much of an average as its row says") {
  const std::vector<double> here = {1, -2, 4}, there = {3, 2, -4};
  const auto pool = std::make_shared<BufferPool>();
  constexpr double kWeight = 0.25;
  for (const AlgorithmRow& row : algorithms()) {
    if (row.needs.fanout == Fanout::per_edge) continue;  // it takes no average
    CAPTURE(row.name);
    Options options;
    options.algorithm = &row;
    options.codec = wire_form_named("f64");
    constexpr std::uint64_t kEdges[] = {7};
    const auto one = make_algorithm<double>(options, here, pool);
    const auto other = make_algorithm<double>(options, there, pool);
    for (const auto& node : {one.get(), other.get()}) node->follow({kEdges});
    const Payload own = one->offer({}).vector, theirs = other->offer({}).vector;
    one->absorb(std::vector<MixTerm>{{NodeId{2}, kWeight, theirs, own, 7, 0.1}}, true);
    const std::span<const double> model = one->model();
    for (std::size_t k = 0; k < here.size(); ++k)
      CHECK(model[k] ==
            doctest::Approx(here[k] + row.needs.mixing_share * kWeight * (there[k] - here[k])));
  }
}

TEST_CASE("Whatever an algorithm does not bear its row says what to take instead") {
  for (const AlgorithmRow& row : algorithms()) {
    CAPTURE(row.name);
    const OptimizerRule& rule = row.optimizers;
    if (rule.allowed == OptimizerRule::Allowed::any) continue;
    const AlgorithmRow* const instead = find_algorithm(rule.instead);
    REQUIRE(instead);
    CHECK(instead->optimizers.allowed == OptimizerRule::Allowed::any);
  }
}

TEST_CASE_TEMPLATE("Every algorithm begins at its point and offers what its row says", S, float,
                   double) {
  for (const AlgorithmRow& row : algorithms()) {
    CAPTURE(row.name);
    Options options;
    options.algorithm = &row;
    const std::vector<S> x = {1, 2, 3};
    const auto made = make_algorithm<S>(options, x, std::make_shared<BufferPool>());
    CHECK(std::vector<S>(made->model().begin(), made->model().end()) == x);
    const std::uint64_t edges[] = {1};
    made->follow({edges});
    const EdgePlace place{.edge = 1};
    const Offer offer = made->offer({&place, 1});
    const Payload& sent = offer.of_edge.empty() ? offer.vector : offer.of_edge.front().payload;
    CHECK(fits(*options.codec.format, sent, x.size() * row.vectors_offered));
  }
}
