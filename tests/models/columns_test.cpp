#include <cmath>

#include "models/data/columns/column_kind.h"
#include "models/data/columns/date_cell.h"
#include "models/data/columns/number_cell.h"
#include "models/data/columns/truth.h"
#include "models/data/csv.h"
#include "models/data/csv_profile.h"
#include "models/data/encoding.h"
#include "models/linear/feature_map.h"
#include "models/scores.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

struct Amount {
  const char* cell;
  bool decimal_comma;
  double value;
  const char* unit = "";
  char limit = 0;
};

TableProfile profile_of(const std::vector<std::string>& cells, DataOptions options = {}) {
  std::string text = "a\ty\n";
  for (const std::string& cell : cells) text += cell + "\t1\n";
  options.target = "y";
  return value_of(profile_csv(options, "x.csv", text));
}

std::string kind_of(const std::vector<std::string>& cells, DataOptions options = {}) {
  return std::string(profile_of(cells, std::move(options)).columns[0].form.kind->name());
}

// A table of one column "a" beside the class "y", at each of several nodes.
Data site(const std::vector<std::pair<std::string, std::string>>& rows, DataOptions options = {}) {
  const Folder folder("site");
  std::string text = "a\ty\n";
  for (const auto& [a, y] : rows) text += a + "\t" + y + "\n";
  options.source = Source::csv;
  options.path = folder.write("a.csv", text);
  options.target = "y";
  options.holdout = 0;
  return value_of(load(options));
}

Survey survey_of(const Data& data, const std::string& name = "") {
  std::vector<std::uint32_t> rows(data.train.rows);
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = static_cast<std::uint32_t>(r);
  Survey survey = make_survey(data.train, rows, 0);
  survey.site = name;
  return value_of(decode_survey(encode(survey)));
}

std::vector<double> features_of(const Data& data, const Survey& model) {
  const FeatureMap map = value_of(FeatureMap::found(data.train, model));
  std::vector<double> features(data.train.rows * map.width());
  std::vector<std::uint32_t> rows(data.train.rows);
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = static_cast<std::uint32_t>(r);
  map.gather(data.train, rows, features.data());
  return features;
}

using Rows = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("A number reads as people and programs write it") {
  for (const Amount& amount : std::vector<Amount>{{"12", false, 12},
                                                  {"-1.5e3", false, -1500},
                                                  {"1,234.50", false, 1234.5},
                                                  {"1,234,567", false, 1234567},
                                                  {"1.234.567", false, 1234567},
                                                  {"2.536,77", false, 2536.77},
                                                  {"3,14", false, 3.14},
                                                  {"1.234", false, 1.234},
                                                  {"1.234", true, 1234},
                                                  {"1,234", true, 1.234},
                                                  {"1,234", false, 1234},
                                                  {"1 234,50", false, 1234.5},
                                                  {"1\u00A0234\u00A0567", false, 1234567},
                                                  {"1'234.50", false, 1234.5},
                                                  {"$1,234.50", false, 1234.5, "$"},
                                                  {"-$5", false, -5, "$"},
                                                  {"EUR 12,50", false, 12.5, "EUR"},
                                                  {"12,50 €", false, 12.5, "€"},
                                                  {"12.3%", false, 12.3, "%"},
                                                  {"12.3 %", false, 12.3, "%"},
                                                  {"(1,234.00)", false, -1234},
                                                  {"1.234,50-", false, -1234.5},
                                                  {"1.19 mg/dl", false, 1.19, "mg/dl"},
                                                  {"5.2 10^9/l", false, 5.2, "10^9/l"},
                                                  {"<0.05", false, .05, "", '<'},
                                                  {"> 200", false, 200, "", '>'},
                                                  {"≤3,5 mmol/l", false, 3.5, "mmol/l", '<'},
                                                  {"1.234e0", true, 1.234}}) {
    CAPTURE(amount.cell);
    const auto number = split_number(amount.cell);
    REQUIRE(number);
    CHECK(value_of(*number, amount.decimal_comma) == amount.value);
    CHECK(number->unit == amount.unit);
    CHECK(number->limit == amount.limit);
  }
  for (const char* cell : {"", "-", "A12", "12:30", "2013-01-31", "1.2.3", "12,34,5", "0,123,456.7",
                           "1,23.5", "120/80", "10-20", "3+", "1 (low)", "5 6", "+49 170 1234567",
                           "$", "1e", "<", "31.12.2013"}) {
    CAPTURE(cell);
    const auto number = split_number(cell);
    CHECK((!number || !number->unit.empty()));
  }
}

TEST_CASE("A date reads by its own order or by that of its column") {
  const auto days = [](const char* cell, DateOrder order = DateOrder::unknown) {
    const auto date = split_date(cell, order);
    return date ? static_cast<int>(date->day.time_since_epoch().count()) : -1;
  };
  constexpr int kDay = 15736;  // 2013-01-31
  for (const char* cell :
       {"2013-01-31", "2013/1/31", "31.01.2013", "31/1/2013", "1/31/2013", "31.1.13", "31-JAN-2013",
        "31 Jan 2013", "20130131", "2013-01-31 12:30:05", "2013-01-31T12:30:05.25Z",
        "2013-01-31T12:30+01:00", "31.01.2013 12:30"}) {
    CAPTURE(cell);
    CHECK(days(cell) == kDay);
  }
  CHECK(split_date("2013-01-31T12:30Z", DateOrder::unknown)->hours == 12.5);
  CHECK(days("3/4/2013", DateOrder::month_first) == days("2013-03-04"));
  CHECK(days("3/4/2013", DateOrder::day_first) == days("2013-04-03"));
  CHECK(split_date("3/4/2013", DateOrder::unknown)->is_ambiguous);
  CHECK_FALSE(split_date("3.4.2013", DateOrder::unknown)->is_ambiguous);
  CHECK_FALSE(split_date("4/4/2013", DateOrder::unknown)->is_ambiguous);
  for (const char* cell : {"", "1.5", "2013", "12-34", "1-2-3-4", "10.0.0.1", "2013-01-31x", "a:b",
                           "2013-02-30", "32/1/2013", "20131301", "12:30"}) {
    CAPTURE(cell);
    CHECK(days(cell) == -1);
  }
  CHECK(split_time("9:05") == doctest::Approx(9 + 5 / 60.));
  CHECK(split_time("1:30 PM") == 13.5);
  CHECK_FALSE(split_time("25:99"));
}

TEST_CASE("Every kind of column takes its cells and keeps them through survey and features") {
  std::set<std::string> kinds;
  for (const auto& [cells, kind] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"", "NA", ""}, "empty"},
           {{"1", "2", "3.5"}, "number"},
           {{"1.234,50", "2,5", "7"}, "number"},
           {{"$5", "$1,200", "$7"}, "number"},
           {{"<0.05", "0.2", "1.3"}, "number"},
           {{"2024-01-31", "2024-02-29", "2023-07-04"}, "date"},
           {{"31/1/2024", "1/2/2024", "4/7/2023"}, "date"},
           {{"12:30", "7:05", "23:59"}, "time"},
           {{"yes", "No", "ja"}, "boolean"},
           {{"red", "blue", "1"}, "words"},
           {{"<18", ">65", "<18"}, "words"},
           {{"5 stars", "1 star", "4 stars"}, "words"}}) {
    CAPTURE(kind);
    CAPTURE(cells.front());
    CHECK(kind_of(cells) == kind);
    kinds.insert(kind);
    const Data data = site({{cells[0], "u"}, {cells[1], "v"}, {cells[2], "u"}});
    const Survey survey = survey_of(data);
    for (std::size_t c = 0; c < survey.columns.size(); ++c)
      CHECK(survey.columns[c].form == std::get<TableFeatures>(data.train.features).columns[c].form);
    if (kind != "empty")
      CHECK(features_of(data, value_of(merge(std::vector<Survey>{survey, survey}))).size() >= 3);
  }
  for (const ColumnKind* const kind : column_kinds()) {
    CHECK(kinds.contains(std::string(kind->name())));
    CHECK(column_kind_named(kind->name()) == kind);
  }
}

TEST_CASE("Plain numbers leave dates and amounts as they are") {
  DataOptions plain;
  plain.numbers = Numbers::plain;
  CHECK(kind_of({"1.5", "2", "3"}, plain) == "number");
  CHECK(kind_of({"3,14", "2", "3"}, plain) == "number");
  CHECK(kind_of({"$5", "$6"}, plain) == "words");
  CHECK(kind_of({"2024-01-31", "2024-02-29"}, plain) == "words");
}

TEST_CASE("A number far from all others that stands often is named") {
  std::vector<std::string> cells;
  for (int row = 0; row < 200; ++row)
    cells.push_back(row % 20 == 7 ? "999" : fmt::to_string(124 + row % 32));
  const auto lone = lone_number(profile_of(cells).columns[0]);
  REQUIRE(lone);
  CHECK(lone->value == 999);
  CHECK(lone->count == 10);
  CHECK(lone->most == 155);
  std::ranges::replace(cells, "999", "160");
  CHECK_FALSE(lone_number(profile_of(cells).columns[0]));
  std::ranges::replace(cells, "160", "-1");
  CHECK(lone_number(profile_of(cells).columns[0])->value == -1);
}

TEST_CASE("A quoted word for a missing cell is a word in a column of words alone") {
  const auto count = [](const std::vector<std::string>& cells) {
    return profile_of(cells).columns[0].missing.count;
  };
  CHECK(count({"\"NA\"", "DE", "", "NA"}) == 2);
  CHECK(count({"\"NA\"", "1", "2", "3"}) == 1);
  DataOptions options;
  options.missing_words = {"", "k.A.", "999"};
  const ColumnProfile column = profile_of({"1", "999", "K.a.", "na"}, options).columns[0];
  CHECK(column.missing.count == 2);
  CHECK(column.words.first == "na");
}

TEST_CASE("A date has parts for what depends on month and weekday and hour") {
  const Data data = site({{"2024-01-31 08:00", "u"}, {"2024-02-29 09:30", "v"}, {"", "u"}});
  const Survey survey = survey_of(data);
  std::vector<std::string> names;
  for (const ColumnSurvey& column : survey.columns) names.push_back(column.name);
  CHECK(names == std::vector<std::string>{"a", "a (month)", "a (weekday)", "a (hour)"});
  CHECK(survey.columns[1].words == std::vector<std::string>{"", "01", "02"});
  CHECK(survey.columns[2].words == std::vector<std::string>{"", "Thursday", "Wednesday"});
  CHECK(survey.columns[3].of == "a");
}

TEST_CASE("A part that one founder has is zero at the others") {
  const Data limits = site({{"<0.5", "u"}, {"2", "v"}, {"3", "u"}}),
             none = site({{"1", "u"}, {"2", "v"}});
  const Survey merged = value_of(merge(std::vector<Survey>{survey_of(none), survey_of(limits)}));
  REQUIRE(merged.columns.size() == 2);
  const std::vector<double> with = features_of(limits, merged), without = features_of(none, merged);
  CHECK(with[1] < with[3]);
  CHECK(without[1] == with[3]);
}

TEST_CASE("Spellings of true and false are one class and one word between sites") {
  const std::vector<Rows> sites{{{"TRUE", "yes"}, {"FALSE", "no"}},
                                {{"True", "1"}, {"False", "0"}},
                                {{"1", "ja"}, {"0", "nein"}, {"", "ja"}}};
  std::vector<Survey> surveys;
  for (const Rows& rows : sites) surveys.push_back(survey_of(site(rows)));
  const Survey merged = value_of(merge(surveys));
  CHECK(merged.classes == std::vector<std::string>{"no", "yes"});
  CHECK(merged.columns[0].words == std::vector<std::string>{"FALSE", "TRUE"});
  for (const Rows& rows : sites) {
    const Data data = site(rows);
    const FeatureMap map = value_of(FeatureMap::found(data.train, merged));
    const std::vector<double> features = features_of(data, merged);
    CHECK(features[0] == 0);
    CHECK(features[1] == 1);
    CHECK(features[2] == 1);
    CHECK(features[3] == 0);
    for (std::size_t r = 0; r < 2; ++r) {
      const auto label = static_cast<std::size_t>(data.train.labels[r]);
      CHECK((map.classes().empty() ? data.train.labels[r] : map.classes()[label]) ==
            (r == 0 ? 1 : 0));
    }
  }
}

TEST_CASE("A row counts for its class whatever its spelling of true and false") {
  const Data data = site({{"1", "ja"}, {"2", "nein"}});
  Predictions predictions;
  predictions.rows = 2;
  predictions.probabilities = {.2, .8, .7, .3};
  predictions.likeliest = {1, 0};
  const Scores scores =
      score_classes(data.train, predictions, std::vector<std::string>{"no", "yes"});
  CHECK(scores.unknown == 0);
  CHECK(scores.accuracy == 1);
}

TEST_CASE("Columns of two kinds or two units are refused with both nodes") {
  const auto refusal = [](const Rows& a, const Rows& b) {
    const auto merged =
        merge(std::vector<Survey>{survey_of(site(a), "north"), survey_of(site(b), "south")});
    REQUIRE(!merged);
    return merged.error().text;
  };
  CHECK(refusal({{"1", "u"}, {"2", "v"}}, {{"red", "u"}, {"blue", "v"}}) ==
        "column a holds numbers (mean 1.5) at north and words (such as \"blue\") at south; make "
        "them alike, or leave it out with data.ignore = a everywhere");
  CHECK(refusal({{"1 mg/dl", "u"}, {"2 mg/dl", "v"}}, {{"88 mmol/l", "u"}, {"90 mmol/l", "v"}}) ==
        "column a is in mg/dl at north and in mmol/l at south; write both in one unit");
  CHECK(refusal({{"2024-01-31", "u"}, {"2024-02-01", "v"}}, {{"5", "u"}, {"6", "v"}})
            .find("dates (mean 2024-01-31) at north and numbers (mean 5.5) at south") !=
        std::string::npos);
}

TEST_CASE("A text reads in the encoding of its mark or of the setting") {
  const std::string utf16(
      "\xFF\xFE"
      "a\0,\0\xE4\0",
      8);
  CHECK(value_of(to_utf8(utf16, "auto", "x")) == "a,ä");
  CHECK(value_of(to_utf8("a,\xE4", "latin1", "x")) == "a,ä");
  CHECK(value_of(to_utf8("a\rb\r", "auto", "x")) == "a\nb\n");
  CHECK(value_of(to_utf8("a\r\nb\r\n", "auto", "x")) == "a\r\nb\r\n");
  CHECK(to_utf8("a", "moon", "x").error().text.find("data.encoding = \"moon\" is unknown") == 0);
  CHECK(to_utf8("ab\xFF", "utf-8", "x").error().text.find("x: byte 3 is not of encoding") == 0);
}
