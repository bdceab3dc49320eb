#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/csv_layout.h"
#include "models/data/csv_profile.h"
#include "models/data/table_schema.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

constexpr std::string_view kOwn =
    "age,sex,crp,back\n61,F,0.4 mg/dl,yes\n35,M,1.2 mg/dl,no\n50,F,0.7 mg/dl,no\n";
constexpr std::string_view kOther =
    "Zimmer;Geschlecht;Alter;crp;back\nA1;w;61;4 g;ja\nB2;m;999;12 g;nein\nC3;w;50;7 g;nein\n";
constexpr std::string_view kDictionary =
    "[age]\nfrom = Alter\nmissing = 999\n[sex]\nfrom = Geschlecht\nwords = w:F, m:M\n"
    "[crp]\nscale = 0.1\n";

std::string schema_of(const std::string& text) {
  DataOptions options{.source = Source::csv};
  options.target = "back";
  const TableProfile profile = value_of(profile_csv(options, "own.csv", text));
  return schema_text(profile, decide_layout(profile, options));
}

struct Site {
  Folder folder{fmt::format("schema-{}", ++count)};
  static inline int count = 0;
  DataOptions options{.source = Source::csv};

  Site(std::string_view table, std::string_view dictionary) {
    options.path = folder.write("table.csv", std::string(table));
    options.schema = std::make_shared<const TableSchema>(
        value_of(read_schema(folder.write("schema.ini", schema_of(std::string(kOwn))))));
    if (!dictionary.empty())
      options.dictionary_path = folder.write("own.ini", std::string(dictionary));
    options.target = options.schema->target;
    options.task = Task::classification;
    options.holdout = 0;
  }
};

}  // namespace

TEST_CASE("A schema has names and kinds and words and units and no row") {
  CHECK(schema_of(std::string(kOwn)) ==
        "# What all sites call their columns: names, kinds, words and units; neither rows nor "
        "counts.\n[table]\ntarget = back\ntask = classification\n\n[age]\nkind = number\n\n[sex]\n"
        "kind = words\nwords = F, M\n\n[crp]\nkind = number\nunit = mg/dl\n\n[back]\n"
        "kind = boolean\nwords = no, yes\n");
}

TEST_CASE("A schema leaves a column of many words open") {
  std::string text = "code,back\n";
  for (int row = 0; row < 100; ++row) text += fmt::format("C{},{}\n", row % 21, row % 2);
  CHECK(schema_of(text).find("[code]\nkind = words\n\n") != std::string::npos);
}

TEST_CASE("A table of another language trains by its dictionary as the schema says") {
  const Site own(kOwn, ""), other(kOther, kDictionary);
  const Data a = value_of(load(own.options)), b = value_of(load(other.options));
  const auto& table = std::get<TableFeatures>(b.train.features);
  CHECK(table.columns.size() == 3);
  CHECK(table.words == std::get<TableFeatures>(a.train.features).words);
  std::vector<std::uint32_t> rows{0, 1, 2};
  const Survey merged = value_of(
      merge(std::vector<Survey>{make_survey(a.train, rows, 0), make_survey(b.train, rows, 0)}));
  CHECK(merged.find("crp")->moments.mean == doctest::Approx((.4 + 1.2 + .7) / 3));
  CHECK(merged.find("age")->moments.count == 5);
  CHECK(merged.classes == std::vector<std::string>{"no", "yes"});
}

TEST_CASE("A dictionary is proposed with a question where only a person knows") {
  const Site other(kOther, "");
  DataOptions plain{.source = Source::csv};
  plain.target = "back";
  const TableProfile profile = value_of(profile_csv(plain, "x.csv", kOther));
  const std::string text = proposed_dictionary(*other.options.schema, profile);
  CHECK(text.find("[sex]\nfrom = ?\n") != std::string::npos);
  CHECK(text.find("[age]\nfrom = ?\n") != std::string::npos);
  const auto read = read_dictionary(other.folder.write("proposal.ini", text));
  REQUIRE(!read);
  CHECK(read.error().text.find("from = ?: complete it where a ? stands") != std::string::npos);
}

TEST_CASE("What a schema and a table disagree in is refused with its name") {
  const auto refusal = [](std::string_view table, std::string_view dictionary) {
    const Site site(table, dictionary);
    const auto data = load(site.options);
    REQUIRE(!data);
    return data.error().text;
  };
  const auto says = [](const std::string& text, std::string_view part) {
    if (text.find(part) == std::string::npos) MESSAGE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refusal(kOther, ""), "has no age, a column of the schema; its columns are Zimmer"));
  CHECK(says(refusal(kOther, "[age]\nfrom = Alter\n[sex]\nfrom = Geschlecht\n"),
             "column sex holds \"m\", and the schema has F, M"));
  CHECK(says(refusal("age,sex,crp,back\nold,F,1,yes\nyoung,M,2,no\n", ""),
             "column age holds words here, and numbers in the schema"));
}

TEST_CASE("A damaged schema or dictionary is refused with file and section") {
  const Folder folder("damaged");
  const auto schema = [&](const std::string& text) {
    const auto read = read_schema(folder.write("s.ini", text));
    return read ? std::string("read") : read.error().text;
  };
  const auto dictionary = [&](const std::string& text) {
    const auto read = read_dictionary(folder.write("d.ini", text));
    return read ? std::string("read") : read.error().text;
  };
  CHECK(schema("[table]\ntarget = y\n")
            .ends_with("[table] target = \"y\" is no column of the schema"));
  CHECK(schema("[y]\nkind = moon\n")
            .find("[y] kind = moon: expected one of date, time, number, boolean, words") !=
        std::string::npos);
  CHECK(schema("[y]\nunit = mg\n").ends_with("[y] has no kind"));
  CHECK(schema("[y]\ncolour = red\n").ends_with("has a key colour, expected kind, words or unit"));
  CHECK(dictionary("[y]\nscale = 0\n").ends_with("scale = 0: expected a number other than 0"));
  CHECK(dictionary("[y]\nwords = w\n").find("expected HERE:SCHEMA pairs") != std::string::npos);
  CHECK(dictionary("[y]\nfrom = a\n") == "read");
}
