#include "models/survey.h"

#include <cmath>
#include <numeric>

#include "models/feature_map.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

// A table whose first column lies far from 0 and whose words get rarer.
Dataset table_of(std::size_t rows) {
  TableFeatures table{.number_names = {"far", "near"},
                      .word_names = {"word"},
                      .words = {{"a", "b", "c", "d"}},
                      .numbers = {},
                      .codes = {}};
  Dataset set;
  Prng prng(3);
  for (std::size_t r = 0; r < rows; ++r) {
    table.numbers.push_back(1e6 + prng.normal());
    table.numbers.push_back(prng.uniform());
    table.codes.push_back(r == 0 ? 3 : static_cast<std::uint32_t>(prng.below(3)));
    set.targets.push_back(200'000 + 1000 * prng.normal());
  }
  set.features = std::move(table);
  set.rows = rows;
  set.columns = 3;
  return set;
}

std::vector<std::uint32_t> range(std::size_t from, std::size_t to) {
  std::vector<std::uint32_t> rows(to - from);
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(from));
  return rows;
}

void check_close(const Moments& a, const Moments& b) {
  CHECK(a.count == b.count);
  CHECK(std::abs(a.mean - b.mean) <= 1e-12 * std::abs(b.mean));
  CHECK(std::abs(a.deviation() - b.deviation()) <= 1e-12 * std::abs(b.mean));
}

}  // namespace

TEST_CASE("Merged surveys of shards equal the survey of all samples") {
  const Dataset set = table_of(1000);
  const Survey whole = make_survey(set, range(0, 1000));
  Survey merged = make_survey(set, {});
  for (const auto& [from, to] : {std::pair{0, 7}, {7, 7}, {7, 500}, {500, 1000}})
    merged.merge(value_of(decode_survey(encode(make_survey(set, range(from, to))))));
  for (std::size_t c = 0; c < whole.numbers.size(); ++c)
    check_close(merged.numbers[c], whole.numbers[c]);
  check_close(merged.target, whole.target);
  CHECK(merged.words == whole.words);
  CHECK(merged.words.front() == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("A survey survives its text form to the last bit") {
  const Dataset set = table_of(50);
  const std::string text = encode(make_survey(set, range(0, 50)));
  CHECK(encode(value_of(decode_survey(text))) == text);
}

TEST_CASE("Features of a founded table have mean 0 and deviation 1 over all nodes") {
  const Dataset set = table_of(400);
  const std::vector<std::string> surveys{encode(make_survey(set, range(0, 100))),
                                         encode(make_survey(set, range(100, 400)))};
  const FeatureMap map = value_of(FeatureMap::found(set, surveys));
  REQUIRE(map.width() == 6);
  std::vector<double> x(400 * map.width());
  map.gather(set, range(0, 400), x.data());
  Moments far;
  for (std::size_t r = 0; r < 400; ++r) far.add(x[r * 6]);
  CHECK(std::abs(far.mean) < 1e-9);
  CHECK(far.deviation() == doctest::Approx(1));
  CHECK(std::accumulate(x.begin() + 2, x.begin() + 6, 0.0) == 1);
  CHECK(x[5] == 1);
}

TEST_CASE("A word that no founder saw is no feature") {
  const Dataset set = table_of(10);
  const std::vector<std::string> surveys{encode(make_survey(set, range(1, 10)))};
  const FeatureMap map = value_of(FeatureMap::found(set, surveys));
  CHECK(map.width() == 5);
  std::vector<double> x(5);
  map.gather(set, range(0, 1), x.data());
  CHECK(x[2] + x[3] + x[4] == 0);
}

TEST_CASE("A malformed survey is refused whatever is wrong with it") {
  const Dataset set = table_of(20);
  const std::string good = encode(make_survey(set, range(0, 20)));
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(decode_survey(good.substr(0, length)));
  CHECK_FALSE(decode_survey(good + "0:"));
  CHECK_FALSE(decode_survey(std::string(kSurveyBytesLimit + 1, '1')));
  CHECK_FALSE(decode_survey("17:starling-survey-19:999999999"));
  const auto broken = [&](auto change) {
    Survey survey = make_survey(set, range(0, 20));
    change(survey);
    return decode_survey(encode(survey));
  };
  CHECK_FALSE(broken([](Survey& s) { s.numbers[0].mean = std::nan(""); }));
  CHECK_FALSE(broken([](Survey& s) { s.numbers[0].mean = 1e300; }));
  CHECK_FALSE(broken([](Survey& s) { s.numbers[0].squares = -1; }));
  CHECK_FALSE(broken([](Survey& s) { s.numbers[0].squares = INFINITY; }));
  CHECK_FALSE(broken([](Survey& s) { s.target.count = 1.5; }));
  CHECK_FALSE(broken([](Survey& s) { s.target.count = 19; }));
  CHECK_FALSE(broken([](Survey& s) { s.words[0] = {"b", "a"}; }));
  CHECK_FALSE(broken([](Survey& s) { s.words[0] = {"a", "a"}; }));
  CHECK(broken([](Survey&) {}));
}

TEST_CASE("Random damage to a survey never gets further than an error") {
  const Dataset set = table_of(20);
  const std::string good = encode(make_survey(set, range(0, 20)));
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string text = damaged(good, seed);
    const std::vector<std::string> surveys{good, text};
    const auto map = FeatureMap::found(set, surveys);
    if (map) CHECK(map->width() < 10);
  }
}

TEST_CASE("Surveys of other columns or of nothing found no features") {
  const Dataset set = table_of(20);
  Survey other = make_survey(set, range(0, 20));
  other.number_names[0] = "other";
  CHECK_FALSE(FeatureMap::found(set, std::vector<std::string>{encode(other)}));
  CHECK_FALSE(FeatureMap::found(set, std::vector<std::string>{encode(make_survey(set, {}))}));
  CHECK_FALSE(FeatureMap::found(set, {}));
}
