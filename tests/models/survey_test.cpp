#include "models/data/survey.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/data/plausible.h"
#include "models/data/table_builder.h"
#include "models/linear/feature_map.h"
#include "models/nets/model_card.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

// A table whose first column lies far from 0 and whose words get rarer; one cell in ten of the
// second is missing.
Dataset table_of(std::size_t rows) {
  TableFeatures table;
  table.columns = {
      {"far", Content::numbers, 0}, {"word", Content::words, 0}, {"near", Content::numbers, 1}};
  table.words = {{"a", "b", "c", "d"}};
  table.number_columns = 2;
  table.target = std::string("y");  // GCC 12 warns of a plain one
  Dataset set;
  Prng prng(3);
  for (std::size_t r = 0; r < rows; ++r) {
    table.numbers.push_back(1e6 + prng.normal());
    table.numbers.push_back(r % 10 == 9 ? std::nan("") : prng.uniform());
    table.codes.push_back(r == 0 ? 3 : static_cast<std::uint32_t>(prng.below(3)));
    set.targets.push_back(200'000 + 1000 * prng.normal());
  }
  set.features = std::move(table);
  set.rows = rows;
  set.columns = 3;
  return set;
}

// One column of words that predicts a class; both are the names given.
Dataset classes_of(const std::vector<std::string>& names) {
  TableBuilder builder(
      {.columns = {{"word", plain_form(Content::words)}}, .target = "y", .classifies = true});
  Dataset set;
  for (const std::string& name : names) {
    const std::vector<Cell> cells{{name}, {name}};
    REQUIRE(builder.add(cells, set));
  }
  builder.finish(set);
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

Survey survey_of(const Dataset& set, std::size_t from, std::size_t to) {
  return make_survey(set, range(from, to), 0);
}

}  // namespace

TEST_CASE("Merged surveys of shards equal the survey of all samples") {
  const Dataset set = table_of(1000);
  const Survey whole = survey_of(set, 0, 1000);
  std::vector<std::string> texts;
  for (const auto& [from, to] : {std::pair{0, 7}, {7, 7}, {7, 500}, {500, 1000}})
    texts.push_back(encode(make_survey(set, range(from, to), 0)));
  const Survey merged = value_of(merge_texts(texts));
  CHECK(merged.rows == 1000);
  CHECK(merged.columns[2].moments.count == 900);
  for (const std::size_t c : {0, 2})
    check_close(merged.columns[c].moments, whole.columns[c].moments);
  check_close(merged.amounts, whole.amounts);
  CHECK(merged.columns[1].words == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("A survey survives its text form to the last bit") {
  for (const Dataset& set : {table_of(50), classes_of({"x", "", "yes"})}) {
    const std::string text = encode(survey_of(set, 0, set.rows));
    CHECK(encode(value_of(decode_survey(text))) == text);
  }
}

TEST_CASE("The dealt file of a survey survives its text form and a merger") {
  Survey survey = survey_of(table_of(50), 0, 25);
  survey.dealt = DealtFile{.rows = 50, .hash = 0x0123456789abcdef};
  const Survey again = value_of(decode_survey(encode(survey)));
  CHECK(again.dealt == survey.dealt);
  const Survey earlier = survey_of(table_of(50), 25, 50);  // of a node of an earlier version
  CHECK(value_of(merge(std::vector{survey, again})).dealt == survey.dealt);
  CHECK(merge(std::vector{earlier, survey}));
  std::string text = encode(survey);
  text.replace(text.find("0123456789abcdef"), 16, "0123456789abcdeg");
  CHECK_FALSE(decode_survey(text));
}

TEST_CASE("A foundation founds the same features for a newcomer as the surveys did") {
  const Dataset set = table_of(400);
  const std::vector<Survey> surveys{survey_of(set, 0, 100), survey_of(set, 100, 400)};
  const Survey all = value_of(merge(surveys));
  const std::vector<std::string> foundation{encode(all)};
  const Survey again = value_of(merge_texts(foundation));
  CHECK(encode(again) == encode(all));
  const std::vector<Survey> with_others{surveys[0], all, surveys[1]};
  CHECK(encode(value_of(merge(with_others))) == encode(all));
}

TEST_CASE("Features of a founded table have mean 0 and deviation 1 over all nodes") {
  const Dataset set = table_of(400);
  const std::vector<Survey> surveys{survey_of(set, 0, 100), survey_of(set, 100, 400)};
  const FeatureMap map = value_of(FeatureMap::found(set, value_of(merge(surveys))));
  REQUIRE(map.width() == 6);
  std::vector<double> x(400 * map.width());
  map.gather(set, range(0, 400), x.data());
  Moments far;
  for (std::size_t r = 0; r < 400; ++r) far.add(x[r * 6]);
  CHECK(std::abs(far.mean) < 1e-9);
  CHECK(far.deviation() == doctest::Approx(1));
  CHECK(std::accumulate(x.begin() + 1, x.begin() + 5, 0.0) == 1);
  CHECK(x[4] == 1);
  CHECK(x[9 * 6 + 5] == 0);
}

TEST_CASE("A word that no founder saw is no feature") {
  const Dataset set = table_of(10);
  const FeatureMap map = value_of(FeatureMap::found(set, survey_of(set, 1, 10)));
  CHECK(map.width() == 5);
  std::vector<double> x(5);
  map.gather(set, range(0, 1), x.data());
  CHECK(x[1] + x[2] + x[3] == 0);
}

TEST_CASE("Hashed words have features and stay where they are") {
  const Dataset set = classes_of({"red", "green", "blue", ""});
  const Survey survey = make_survey(set, range(0, 4), 5);
  CHECK(survey.columns[0].words.empty());
  const std::string text = encode(survey);
  CHECK(text.find("word") != std::string::npos);
  CHECK(text.find("red", text.find("word")) > text.find("1:y"));
  const FeatureMap map = value_of(FeatureMap::found(set, survey));
  CHECK(map.width() == 32);
  std::vector<double> x(4 * 32);
  map.gather(set, range(0, 4), x.data());
  for (std::size_t r = 0; r < 4; ++r)
    CHECK(std::accumulate(x.begin() + r * 32, x.begin() + (r + 1) * 32, 0.0) == 1);
}

TEST_CASE("Nodes agree on the classes of all and leave out those of nobody else") {
  const Dataset one = classes_of({"b", "d", "b"});
  const Dataset other = classes_of({"a", "d"});
  const std::vector<Survey> surveys{survey_of(one, 0, 3), survey_of(other, 0, 2)};
  const Survey all = value_of(merge(surveys));
  CHECK(all.classes == std::vector<std::string>{"a", "b", "d"});
  CHECK(value_of(FeatureMap::found(one, all)).classes() == std::vector<std::int32_t>{1, 2});
  CHECK(value_of(FeatureMap::found(other, all)).classes() == std::vector<std::int32_t>{0, 2});
  const Dataset late = classes_of({"c", "d"});
  CHECK(value_of(FeatureMap::found(late, all)).classes() == std::vector<std::int32_t>{-1, 2});
}

TEST_CASE("Tables that do not go together are refused by the name of the column") {
  const Dataset set = table_of(20);
  const Survey good = survey_of(set, 0, 20);
  const auto refusal = [&](auto change) {
    std::vector<Survey> surveys{good, good};
    change(surveys[1]);
    const auto merged = merge(surveys);
    REQUIRE(!merged);
    return merged.error().text;
  };
  CHECK(refusal([](Survey& s) {
          s.columns[0].name = "other";
        }).starts_with("column far is in the table of one node"));
  CHECK(
      refusal([](Survey& s) { s.columns.pop_back(); }).starts_with("column near is in the table"));
  CHECK(refusal([](Survey& s) {
          s.columns[2] = {"near", Content::words, {}, {"", "unknown"}};
        }).starts_with("column near holds numbers (mean 0."));
  CHECK(refusal([](Survey& s) { s.target = std::string("z"); }) ==
        "y is predicted at one node, and z at another; expected one data.target");
  CHECK(refusal([](Survey& s) { s.classifies = true; }).starts_with("target y holds amounts at"));
  CHECK(refusal([](Survey& s) { s.hash_bits = 8; }) ==
        "one node has data.words = share, another hash:8; expected one for all");
  std::vector<Survey> reordered{good, good};
  std::ranges::reverse(reordered[1].columns);
  CHECK(encode(value_of(merge(reordered))) ==
        encode(value_of(merge(std::vector<Survey>{good, good}))));
  std::vector<Survey> empty{good, good};
  empty[0].columns[1] = {"word", Content::empty, {}, {}};
  CHECK(value_of(merge(empty)).columns[1].content == Content::words);
  CHECK_FALSE(merge({}));
  CHECK_FALSE(merge(std::vector<Survey>{survey_of(set, 0, 0)}));
}

TEST_CASE("A survey that is too large to send says what takes the room") {
  Survey survey = survey_of(table_of(20), 0, 20);
  CHECK(check_size(survey));
  for (std::size_t i = 0; i < 9000; ++i)
    survey.columns[1].words.push_back(fmt::format("{:0>80}", i));
  const auto checked = check_size(survey);
  REQUIRE(!checked);
  CHECK(checked.error().text.find(
            "9,004 words of column word: leave it out with data.ignore = word") !=
        std::string::npos);
  CHECK_FALSE(decode_survey(encode(survey)));
}

TEST_CASE("A merged survey holds how any founder writes numbers and missing ones") {
  const auto survey_of_column = [](bool comma, std::vector<std::string> missing) {
    TableBuilder builder({.columns = {{"a", plain_form(Content::numbers, comma)}},
                          .target = "y",
                          .decimal_comma = comma,
                          .missing = std::move(missing)});
    Dataset set;
    for (const std::string cell : {"1", "k.A."})
      if (cell == "1" || comma) REQUIRE(builder.add(std::vector<Cell>{{cell}, {"2"}}, set));
    builder.finish(set);
    return make_survey(set, range(0, set.rows), 0);
  };
  const std::string german = encode(survey_of_column(true, {"k.A."}));
  const std::string english = encode(survey_of_column(false, {"unknown"}));
  for (const auto& texts : {std::vector{german, english}, {english, german}}) {
    const Survey merged = value_of(merge_texts(texts));
    CHECK(merged.decimal_comma);
    CHECK(merged.columns[0].moments.count == 2);
    CHECK(merged.missing == std::vector<std::string>{"k.A.", "unknown"});
  }
}

TEST_CASE("A malformed survey is refused whatever is wrong with it") {
  const Dataset set = table_of(20);
  const std::string good = encode(survey_of(set, 0, 20));
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(decode_survey(good.substr(0, length)));
  CHECK_FALSE(decode_survey(good + "0:"));
  CHECK_FALSE(decode_survey(std::string(kSurveyBytesLimit + 1, '1')));
  CHECK_FALSE(decode_survey("17:starling-survey-59:999999999"));
  const auto broken = [&](auto change) {
    Survey survey = survey_of(set, 0, 20);
    change(survey);
    return decode_survey(encode(survey));
  };
  CHECK_FALSE(broken([](Survey& s) { s.columns[0].moments.mean = std::nan(""); }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[0].moments.mean = 1e300; }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[0].moments.squares = -1; }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[0].moments.squares = INFINITY; }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[0].moments.count = 21; }));
  CHECK_FALSE(broken([](Survey& s) { s.amounts.count = 1.5; }));
  CHECK_FALSE(broken([](Survey& s) { s.amounts.count = 21; }));
  CHECK_FALSE(broken([](Survey& s) { s.hash_bits = 40; }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[1].words = {"b", "a"}; }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[1].words = {"a", "a"}; }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[1].words = {"caf\xe9"}; }));
  CHECK_FALSE(broken([](Survey& s) { s.columns[0].name = "\xff"; }));
  CHECK(broken([](Survey&) {}));
}

TEST_CASE("Random damage to a survey never gets further than an error") {
  const Dataset set = table_of(20);
  const std::string good = encode(survey_of(set, 0, 20));
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string text = damaged(good, seed);
    const std::vector<std::string> surveys{good, text};
    const auto merged = merge_texts(surveys);
    if (!merged) continue;
    const auto map = FeatureMap::found(set, *merged);
    if (map && merged->hash_bits == 0) CHECK(map->width() < 10);
  }
}

TEST_CASE("What fewer rows have than a node wants to tell is left out of its survey") {
  const Folder folder("suppressed");
  DataOptions options{.source = Source::csv,
                      .path = folder.write("a.csv",
                                           "age,town,kind\n1,oslo,a\n2,oslo,a\n3,rome,a\n"
                                           ",oslo,b\n,bonn,c\nNA,oslo,b\n7,rome,a\n")};
  options.target = "kind";
  options.holdout = 0;
  const Data data = value_of(load(options));
  const std::vector<std::uint32_t> rows{0, 1, 2, 3, 4, 5, 6};
  const auto told = [&](std::size_t least) { return make_survey(data.train, rows, 0, least); };
  CHECK(told(0).find("town")->words == std::vector<std::string>{"bonn", "oslo", "rome"});
  CHECK(told(1).find("town")->words == told(0).find("town")->words);
  CHECK(told(2).find("town")->words == std::vector<std::string>{"oslo", "rome"});
  CHECK(told(2).classes == std::vector<std::string>{"a", "b"});
  CHECK(told(3).classes == std::vector<std::string>{"a"});
  CHECK(told(4).find("age")->moments.count == 4);
  CHECK(told(5).find("age")->moments.count == 0);
  CHECK(told(5).find("age")->content == Content::numbers);
  CHECK(told(7).rows == 7);
  CHECK(told(2).missing.empty());
  const Survey nothing = told(8);
  CHECK(nothing.rows == 0);
  CHECK(nothing.classes.empty());
  CHECK(nothing.find("town")->words.empty());
  CHECK(nothing.columns.size() == 2);
  CHECK(value_of(decode_survey(encode(told(3)))).classes == told(3).classes);
}

namespace {

// Of the first numeric column after one of eleven founders told something false of it, and before.
// `has_model`: it tells what an existing model of its own was founded on.
std::pair<Moments, Moments> beside_a_liar(const std::function<void(Moments&)>& lie,
                                          bool has_model = false) {
  const Dataset set = table_of(1100);
  std::vector<Survey> surveys;
  for (std::uint32_t k = 0; k < 11; ++k) surveys.push_back(survey_of(set, 100 * k, 100 * (k + 1)));
  const auto of_column = [](const Survey& survey) {
    return std::ranges::find(survey.columns, Content::numbers, &ColumnSurvey::content)->moments;
  };
  const Moments honest = of_column(value_of(merge(surveys)));
  Survey& liar = surveys[4];
  liar.is_fixed = has_model;
  lie(std::ranges::find(liar.columns, Content::numbers, &ColumnSurvey::content)->moments);
  return {of_column(value_of(merge(surveys))), honest};
}

}  // namespace

TEST_CASE("What one founder tells falsely of a column does not change its scale") {
  const std::function<void(Moments&)> lies[] = {
      [](Moments& told) { told.mean = 1e9; }, [](Moments& told) { told.squares = 1e30; },
      [](Moments& told) { told.mean = -1e9, told.squares = 1e30; }};
  for (const auto& lie : lies) {
    const auto [seen, honest] = beside_a_liar(lie);
    CHECK(std::abs(seen.mean - honest.mean) < .2 * honest.deviation());
    CHECK(seen.deviation() == doctest::Approx(honest.deviation()).epsilon(.1));
  }
  const auto [seen, honest] = beside_a_liar([](Moments& told) { told.count = 1e15; });
  CHECK(seen.count < 1e6);
}

TEST_CASE("A survey of an existing model founds the features if its numbers are plausible") {
  for (const double off : {0.5, 1e9}) {
    CAPTURE(off);
    double told = 0;
    const auto [seen, honest] =
        beside_a_liar([&](Moments& moments) { told = moments.mean += off; }, true);
    if (off < 1)
      CHECK(seen.mean == told);
    else
      CHECK(std::abs(seen.mean - honest.mean) < .2 * honest.deviation());
  }
}

TEST_CASE("Founders that are right to differ all count") {
  std::vector<Moments> all{{10, 1, 10}, {20, 40, 20}, {30, -9, 900}, {10, 2, 0}};
  const std::vector<Moments> before = all;
  std::vector<Moments*> pointers;
  for (Moments& one : all) pointers.push_back(&one);
  leave_out_implausible(pointers);
  for (std::size_t k = 0; k < all.size(); ++k) {
    CHECK(all[k].count == before[k].count);
    CHECK(all[k].mean == before[k].mean);
    CHECK(all[k].squares == before[k].squares);
  }
  std::vector<Moments> constant{{5, 0, 0}, {5, 0, 0}, {5, 0, 0}, {5, 3, 1}};
  pointers.clear();
  for (Moments& one : constant) pointers.push_back(&one);
  leave_out_implausible(pointers);
  CHECK(constant[3].count == 5);
}
