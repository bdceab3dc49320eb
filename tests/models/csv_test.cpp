#include "models/data/csv.h"

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/data/cell.h"
#include "models/data/csv_reader.h"
#include "models/linear/feature_map.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

using Change = std::function<void(DataOptions&)>;

Result<Data> read(const std::string& text, const Change& change = {},
                  const std::string& test = "") {
  const Folder folder("csv");
  DataOptions options{.source = Source::csv, .path = folder.write("a.csv", text)};
  options.target = "y";
  options.task = Task::regression;
  options.holdout = 0;
  if (!test.empty()) options.test_path = folder.write("b.csv", test);
  if (change) change(options);
  auto data = load(options);
  // Of every table here.
  if (data)
    std::erase_if(data->notes,
                  [](const std::string& note) { return note.starts_with("no row is held out"); });
  return data;
}

// Of a table that is refused, without the folder.
std::string error_of(const std::string& text, const Change& change = {},
                     const std::string& test = "") {
  const auto result = read(text, change, test);
  REQUIRE(!result);
  return result.error().text;
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

const TableFeatures& table_of(const Dataset& set) {
  return std::get<TableFeatures>(set.features);
}

// `count` rows made of one each, behind a header.
std::string rows(const std::string& header, std::size_t count,
                 const std::function<std::string(std::size_t)>& row) {
  std::string text = header + "\n";
  for (std::size_t i = 0; i < count; ++i) text += row(i) + "\n";
  return text;
}

// Root mean square error of least squares on our features and a constant, in target units.
double closed_form_rmse(const Data& data) {
  std::vector<std::uint32_t> rows(data.train.rows);
  std::iota(rows.begin(), rows.end(), 0U);
  const FeatureMap map = value_of(FeatureMap::found(data.train, make_survey(data.train, rows, 0)));
  const auto count = static_cast<Eigen::Index>(rows.size());
  const auto width = static_cast<Eigen::Index>(map.width());
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> x(count, width);
  Eigen::VectorXd y(count);
  map.gather(data.train, rows, x.data());
  map.gather_targets(data.train, rows, y.data());
  // The words of a column sum to one, so they span the constant.
  const Eigen::MatrixXd normal = x.transpose() * x + 1e-9 * Eigen::MatrixXd::Identity(width, width);
  const Eigen::VectorXd w = normal.ldlt().solve(x.transpose() * y);
  return std::sqrt((x * w - y).squaredNorm() / static_cast<double>(count)) *
         (map.amount(1) - map.amount(0));
}

}  // namespace

TEST_CASE("A table has columns of numbers and columns of words") {
  const Data data = value_of(read("a, word ,y\n1,red,10\n2,,20\n-3e1,\"dark, \"\"red\"\"\",30\n"));
  const TableFeatures& table = table_of(data.train);
  CHECK(data.train.rows == 3);
  REQUIRE(table.columns.size() == 2);
  CHECK(table.columns[0].name == "a");
  CHECK(table.columns[0].content == Content::numbers);
  CHECK(table.columns[1].name == "word");
  CHECK(table.columns[1].content == Content::words);
  CHECK(table.words.front() == std::vector<std::string>{"", "dark, \"red\"", "red"});
  CHECK(table.codes == std::vector<std::uint32_t>{2, 0, 1});
  CHECK(table.numbers == std::vector<double>{1, 2, -30});
  CHECK(data.train.targets == std::vector<double>{10, 20, 30});
  CHECK(data.notes ==
        std::vector<std::string>{
            "missing of 3 rows: word 1 (empty); a missing word is a category of its own"});
}

TEST_CASE("Without held-out rows it is said what loss and accuracy are of") {
  const Folder folder("held-out");
  DataOptions options{.source = Source::csv, .path = folder.write("a.csv", "a,y\n1,2\n3,4\n")};
  options.target = "y";
  options.holdout = 0;
  CHECK(says(value_of(load(options)).notes.back(), "those of the rows that are trained on"));
}

TEST_CASE("Every way of saying that a cell is missing makes a missing cell") {
  const Data data = value_of(
      read("a,b,y\n,red,1\nNA,NA,2\nn/a,N/A,3\nNaN,nan,4\nNULL,null,5\n?,?,6\n-,-,7\n5,blue,8\n"));
  const TableFeatures& table = table_of(data.train);
  CHECK(table.columns[0].content == Content::numbers);
  for (std::size_t r = 0; r < 7; ++r) CHECK(std::isnan(table.numbers[r]));
  CHECK(table.numbers[7] == 5);
  CHECK(table.words.front() == std::vector<std::string>{"", "blue", "red"});
}

TEST_CASE("Rows with a missing cell are dropped or refused where that is asked for") {
  const std::string text = "a,b,y\n1,red,10\n2,NA,20\n3,blue,?\n4,red,40\n";
  const Data dropped = value_of(read(text, [](auto& o) { o.missing = Missing::drop; }));
  CHECK(dropped.train.targets == std::vector<double>{10, 40});
  CHECK(dropped.notes ==
        std::vector<std::string>{"1 of 4 rows have no y (\"?\") and are left out",
                                 "dropped 1 of 4 rows with a missing cell (data.missing = drop)"});
  CHECK(value_of(read(text)).train.targets == std::vector<double>{10, 20, 40});
  CHECK(says(error_of(text, [](auto& o) { o.missing = Missing::error; }),
             "line 3: no b, and data.missing = error"));
}

TEST_CASE("Semicolons and tabs separate and a mark of UTF-8 is skipped") {
  const Data expected = value_of(read("a,w,y\n1,\"x,y\",10\n2,z,20\n"));
  for (const std::string text : {"\xEF\xBB\xBF"
                                 "a;w;y\r\n1;x,y;10\r\n2;z;20\r\n",
                                 "a\tw\ty\n1\tx,y\t10\n2\tz\t20\n"}) {
    const Data data = value_of(read(text));
    CHECK(table_of(data.train).words == table_of(expected.train).words);
    CHECK(table_of(data.train).numbers == table_of(expected.train).numbers);
    CHECK(data.train.targets == expected.train.targets);
  }
  CHECK(says(error_of("a;w;y\n1;2;3\n", [](auto& o) { o.separator = ','; }),
             "only one column, \"a;w;y\""));
}

TEST_CASE("A target of words or of few whole numbers is a class") {
  const auto automatic = [](DataOptions& options) { options.task = Task::automatic; };
  const Data words = value_of(read("a,y\n1,no\n2,yes\n3,no\n", automatic));
  CHECK(words.train.classes == 2);
  CHECK(words.train.class_names == std::vector<std::string>{"no", "yes"});
  CHECK(words.train.labels == std::vector<std::int32_t>{0, 1, 0});
  CHECK(words.notes.back() == "target y holds 2 different words: classification");
  const Data whole = value_of(
      read(rows("a,y", 50, [](std::size_t i) { return fmt::format("{},{}", i, 3 + i % 5); }),
           automatic));
  CHECK(whole.train.class_names == std::vector<std::string>{"3", "4", "5", "6", "7"});
  const Data amounts = value_of(read(
      rows("a,y", 50, [](std::size_t i) { return fmt::format("{},{}", i, i / 2); }), automatic));
  CHECK(amounts.train.classes == 0);
  CHECK(amounts.notes.back() == "target y holds amounts: regression");
  const Data asked =
      value_of(read("a,y\n1,1.0\n2,1\n3,2.5\n", [](auto& o) { o.task = Task::classification; }));
  CHECK(asked.train.class_names == std::vector<std::string>{"1", "2.5"});
}

TEST_CASE("A test file may have its columns in another order and more of them") {
  const Data data = value_of(read("c,d,y\nx,1,1\n", {}, "more,y,d,c\n9,2,7,a\n"));
  const TableFeatures& test = table_of(data.test);
  CHECK(table_of(data.train).words == test.words);
  CHECK(test.words[0][test.codes[0]] == "a");
  CHECK(test.numbers == std::vector<double>{7});
  CHECK(data.test.targets == std::vector<double>{2});
  CHECK(says(error_of("c,d,y\nx,1,1\n", {}, "y,e\n1,2\n"), "b.csv: has no column c, d; its"));
  CHECK(says(error_of("c,d,y\nx,1,1\n", {}, "c,d,y\nx,one,1\n"),
             "line 2: column d holds \"one\", expected a number"));
}

TEST_CASE("Columns that are ignored are left out") {
  const Data data = value_of(read("id,a,y\nk1,1,2\nk2,2,4\n", [](auto& o) { o.ignore = {"id"}; }));
  CHECK(table_of(data.train).columns.size() == 1);
  CHECK(says(error_of("id,a,y\n1,2,3\n", [](auto& o) { o.ignore = {"ic"}; }),
             "data.ignore = \"ic\" is no column, expected some of id, a, y"));
  CHECK(says(error_of("a,y\n1,2\n", [](auto& o) { o.ignore = {"a"}; }), "no column is left"));
}

TEST_CASE("A column that tells rows apart is refused with its name and what to do") {
  const std::string text = rows("name,when,a,y", 80, [](std::size_t i) {
    return fmt::format("Person {},2013-01-{:02} 10:00:00,{},{}", i, 1 + i % 28, i % 3, i);
  });
  const std::string error = error_of(text);
  CHECK(says(error, "column name holds 80 different words in 80 rows, such as \"Person 0\""));
  CHECK(says(error, "data.ignore = name leaves it out"));
  const Data data = value_of(read(text, [](auto& o) { o.ignore = {"name"}; }));
  CHECK(table_of(data.train).columns.size() == 5);
  const std::string plain = error_of(text, [](auto& o) { o.numbers = Numbers::plain; });
  CHECK(says(plain, "column when holds dates or times (\"2013-01-01 10:00:00\")"));
  CHECK(says(plain, "data.ignore = name,when leaves them out"));
}

TEST_CASE("Numbers whose marks have two meanings are refused with the cell") {
  CHECK(says(error_of("a,y\n\"1,200\",1\n\"2,300\",2\n"),
             "column a: line 2 holds \"1,200\", which may be a number above a thousand "
             "(data.decimal = point) or one with a decimal comma (data.decimal = comma)"));
  CHECK(says(error_of("a;y\n1.5;1\n3,14;2\n"),
             "column a: line 3 holds \"3,14\", and line 2 \"1.5\"; write numbers with a decimal"));
  CHECK(says(error_of("a;y\n1;1\n3,14;2\n", [](auto& o) { o.decimal = Decimal::point; }),
             "data.decimal = comma"));
  CHECK(says(error_of("a,y\n1,\"1,200\"\n", [](auto& o) { o.task = Task::automatic; }),
             "data.decimal = comma"));
  const std::string one_word = rows("a,y", 60, [](std::size_t i) {
    return fmt::format("{},{}", i == 30 ? "12 km" : fmt::to_string(i), i);
  });
  CHECK(says(error_of(one_word),
             "column a: line 32 holds \"12 km\", and 59 of its 60 cells are "
             "numbers; write NA where one is missing"));
  const std::string units = rows("a,y", 60, [](std::size_t i) {
    return fmt::format("{} {},{}", i, i % 2 == 0 ? "mg/dl" : "mmol/l", i);
  });
  CHECK(says(error_of(units), "several units: \"0 mg/dl\" in line 2, \"1 mmol/l\" in line 3"));
  const Data grades = value_of(read("a,y\n1,1\n2,2\nK,3\n"));
  CHECK(grades.notes ==
        std::vector<std::string>{"column a is taken for words: line 4 holds \"K\""});
}

TEST_CASE("Decimal commas are read where no cell contradicts them") {
  const std::string text = "a;b;y\n1,5;2;3,25\n-,5;2,125;4\n+2;1,234;-1,5\n";
  const Data data = value_of(read(text));
  CHECK(table_of(data.train).numbers == std::vector<double>{1.5, 2, -.5, 2.125, 2, 1.234});
  CHECK(data.train.targets == std::vector<double>{3.25, 4, -1.5});
  CHECK(says(data.notes.front(), "numbers have decimal commas"));
  const Data quoted = value_of(read("a,y\n\"1,5\",1\n2,2\n", {}, "y,a\n3,\"1,234\"\n"));
  CHECK(table_of(quoted.train).numbers == std::vector<double>{1.5, 2});
  CHECK(table_of(quoted.test).numbers == std::vector<double>{1.234});
  const Data asked =
      value_of(read("a;y\n1,234;1\n0.5;2\n", [](auto& o) { o.decimal = Decimal::comma; }));
  CHECK(table_of(asked.train).numbers == std::vector<double>{1.234, .5});
  CHECK(says(error_of("a;y\n1,234;1\n5,678;2\n"), "data.decimal = comma"));
  const std::string both = "a;b;y\n1,5;\"1,234,567\";1\n";
  CHECK(says(error_of(both), "decimal point"));
  CHECK(read(both, [](auto& o) { o.ignore = {"b"}; }));
}

TEST_CASE("A rare word in a column of numbers says that the number is missing") {
  const std::string text = rows("a;y", 60, [](std::size_t i) {
    const std::string number = fmt::format("{},{}", i, i % 10);
    return fmt::format("{};{}", i == 30 || i == 40 ? "k.A." : i == 50 ? "" : number, i);
  });
  const Data data = value_of(read(text));
  const TableFeatures& table = table_of(data.train);
  CHECK(table.columns[0].content == Content::numbers);
  CHECK(std::isnan(table.numbers[30]));
  CHECK(table.numbers[31] == 31.1);
  CHECK(says(data.notes.back(), "missing of 60 rows: a 3 (empty 1, \"k.A.\" 2)"));
  const Data dropped = value_of(read(text, [](auto& o) { o.missing = Missing::drop; }));
  CHECK(dropped.train.rows == 57);
  const Data tested = value_of(read(text, {}, "a;y\nk.A.;1\n2,5;2\n"));
  CHECK(table_of(tested.test).numbers[1] == 2.5);
  const std::string many = rows("a,y", 100, [](std::size_t i) {
    return fmt::format("{},{}", i < 6 ? std::string(i + 1, 'x') : fmt::to_string(i), i);
  });
  CHECK(says(error_of(many), "line 2 holds \"x\", and 94 of its 100 cells are numbers"));
}

TEST_CASE("A table without a header has numbers for names") {
  CHECK(says(error_of("1,2,3\n4,5,6\n"), "line 1: \"1\" looks like data"));
  const Data data = value_of(read("1,2,3\n4,5,6\n", [](auto& o) {
    o.has_header = false;
    o.target = "3";
  }));
  CHECK(says(error_of(rows("a,y", 60, [](auto i) { return fmt::format("{},{}", i, i); }),
                      [](auto& o) { o.has_header = false, o.target = "2"; }),
             "column 1: line 1 holds \"a\""));
  CHECK(data.train.rows == 2);
  CHECK(data.train.targets == std::vector<double>{3, 6});
}

TEST_CASE("A column without a name that counts the rows is left out") {
  const Data data = value_of(read(",a,y\n0,5,1\n1,6,2\n2,7,3\n"));
  CHECK(table_of(data.train).columns.size() == 1);
  CHECK(data.notes ==
        std::vector<std::string>{"left out: column 1, which has no name and counts the rows"});
  CHECK(table_of(value_of(read(",a,y\n3,5,1\n1,6,2\n")).train).columns.size() == 2);
}

TEST_CASE("A first column without a name that holds shuffled row numbers is left out") {
  const auto table = [](const std::string& name, std::size_t first, std::size_t step) {
    return rows(name + ",a,y", 40, [&](std::size_t i) {
      return fmt::format("{},{},{}", first + step * (i * 7 % 40), i % 9, i);
    });
  };
  for (const std::size_t step : {1, 4}) {
    const Data data = value_of(read(table("", 3, step)));
    CHECK(table_of(data.train).columns.size() == 1);
    CHECK(says(data.notes.front(), "left out: column 1, which has no name and holds numbers of"));
  }
  CHECK(table_of(value_of(read(table("", 3, 500))).train).columns.size() == 2);
  CHECK(table_of(value_of(read(table("id", 3, 1))).train).columns.size() == 2);
  CHECK(table_of(value_of(read(table("", 3, 1), [](auto& o) { o.target = "1"; })).train)
            .columns.size() == 2);
}

TEST_CASE("A column with a name that counts the rows is kept and named") {
  std::string text = "id,a,y\n";
  for (int row = 0; row < 20; ++row) text += fmt::format("{},{},{}\n", 7 + row, row % 3, row % 2);
  const Data data = value_of(read(text));
  CHECK(table_of(data.train).columns.size() == 2);
  REQUIRE_FALSE(data.notes.empty());
  CHECK(says(data.notes[0], "column id counts the rows"));
  CHECK(says(data.notes[0], "data.ignore = id leaves it out"));
}

TEST_CASE("A target that is the same in every row is said to teach nothing") {
  const Data data =
      value_of(read("a,y\n1,no\n2,no\n1,no\n", [](auto& o) { o.task = Task::classification; }));
  REQUIRE_FALSE(data.notes.empty());
  CHECK(says(data.notes[0], "target y: every row holds no"));
}

TEST_CASE("A malformed table is an error that names line and cause") {
  CHECK(says(error_of("a,y\n1,2\n1,2,3\n"), "line 3: 3 fields, expected 2"));
  CHECK(says(error_of("a,y\n1\n"), "line 2: 1 fields"));
  CHECK(says(error_of("a,b\n1,2\n"), "data.target = \"y\" is no column, expected one of a, b"));
  CHECK(says(error_of("a,y\n1,red\n"), "target y: line 2 holds \"red\""));
  CHECK(says(error_of("a,y\n1,inf\n"), "target y: line 2 holds \"inf\""));
  CHECK(says(error_of("a,y\n\"1,2\n"), "never closed"));
  CHECK(says(error_of("a,y\n\"1\"x,2\n"), "after a closing quote, expected \",\""));
  CHECK(says(error_of("a,a,y\n1,1,2\n"), "the header names two columns \"a\""));
  CHECK(says(error_of("a,y\n1,\n"), "target y: every cell is missing"));
  CHECK(says(error_of("y\n2\n"), "only one column, \"y\""));
  CHECK(says(error_of(""), "empty, expected a table with a header"));
}

TEST_CASE("A number that no survey could hold is refused with its column") {
  const auto table = [](const std::string& cell, const std::string& target) {
    return rows("a,y", 8, [&](std::size_t i) {
      const std::string number = std::to_string(i) + ".5";
      return (i == 3 ? cell : number) + "," + (i == 3 ? target : number);
    });
  };
  CHECK(read(table("1e90", "-1e90")));
  CHECK(says(error_of(table("1e91", "1")), "column a holds 1e91"));
  CHECK(says(error_of(table("1", "-1e300")), "target y holds -1e300"));
}

TEST_CASE("Random damage to a table gives an error or a table") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto result = read(damaged("a,b,y\n1,red,2\n3,\"x, y\",4\n", seed));
    if (!result) CHECK(result.error().text.size() < 300);
  }
}

TEST_CASE("Line numbers count the line ends inside quotes") {
  CsvReader reader("file", "a\n\"x\ny\"\n\nb,c\n");
  std::vector<Cell> fields;
  std::vector<std::size_t> lines;
  while (value_of(reader.next(fields))) lines.push_back(reader.line());
  CHECK(lines == std::vector<std::size_t>{1, 2, 5});
  CHECK(fields.at(0).text == "b");
  CHECK(fields.at(1).text == "c");
}

TEST_CASE("A cell is a number or none") {
  for (const char* cell : {"1", "-1.5e3", "+2", ".5"}) CHECK(cell_number(cell));
  for (const char* cell : {"", "+-1", "1,5", "inf", "nan", "0x1", "1 2"})
    CHECK_FALSE(cell_number(cell));
  CHECK(class_name("2.0") == "2");
  CHECK(class_name(">50K") == ">50K");
  CHECK(folded("  Male  Nurse ") == "male nurse");
  CHECK(folded("ÄRZTIN") == "ärztin");
}

TEST_CASE("California housing fits to within 69000 dollars with 207 cells imputed") {
  const std::string path = real_data("california-housing.csv.gz");
  if (path.empty()) return;
  DataOptions options{.source = Source::csv, .path = path};
  options.target = "median_house_value";
  options.task = Task::regression;
  options.holdout = 0;
  const Data data = value_of(load(options));
  CHECK(data.train.rows == 20'640);
  CHECK(data.notes.at(data.notes.size() - 2) ==
        "missing of 20,640 rows: total_bedrooms 207 (empty); the mean over all nodes stands for a "
        "number");
  CHECK(closed_form_rmse(data) == doctest::Approx(68'800).epsilon(0.003));
  options.missing = Missing::drop;
  CHECK(closed_form_rmse(value_of(load(options))) == doctest::Approx(68'656).epsilon(0.002));
}
