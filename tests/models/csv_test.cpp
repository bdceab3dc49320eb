#include "models/csv.h"

#include <Eigen/Dense>
#include <cmath>
#include <numeric>

#include "models/csv_reader.h"
#include "models/feature_map.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

Result<Data> read(const std::string& text, const std::string& target = "y",
                  const std::string& test = "") {
  const Folder folder("csv");
  DataOptions options{.source = Source::csv, .path = folder.write("a.csv", text)};
  options.target = target;
  options.holdout = 0;
  if (!test.empty()) options.test_path = folder.write("b.csv", test);
  return load(options);
}

// Root mean square error of least squares on our features and a constant, in target units.
double closed_form_rmse(const Data& data) {
  std::vector<std::uint32_t> rows(data.train.rows);
  std::iota(rows.begin(), rows.end(), 0U);
  const std::vector<std::string> surveys{encode(make_survey(data.train, rows))};
  const FeatureMap map = value_of(FeatureMap::found(data.train, surveys));
  const auto count = static_cast<Eigen::Index>(rows.size());
  const auto width = static_cast<Eigen::Index>(map.width());
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> x(count, width);
  Eigen::VectorXd y(count);
  map.gather(data.train, rows, x.data());
  map.gather_targets(data.train, rows, y.data());
  // The words of a column sum to one, so they span the constant.
  const Eigen::MatrixXd normal = x.transpose() * x + 1e-9 * Eigen::MatrixXd::Identity(width, width);
  const Eigen::VectorXd w = normal.ldlt().solve(x.transpose() * y);
  return std::sqrt((x * w - y).squaredNorm() / static_cast<double>(count)) * map.target_unit();
}

}  // namespace

TEST_CASE("A table has columns of numbers and columns of words") {
  const Data data = value_of(read("a, word ,y\n1,red,10\n2,,20\n-3e1,\"dark, \"\"red\"\"\",30\n"));
  const auto& table = std::get<TableFeatures>(data.train.features);
  CHECK(data.train.rows == 2);
  CHECK(table.number_names == std::vector<std::string>{"a"});
  CHECK(table.word_names == std::vector<std::string>{"word"});
  CHECK(table.words.front() == std::vector<std::string>{"dark, \"red\"", "red"});
  CHECK(table.codes == std::vector<std::uint32_t>{1, 0});
  CHECK(table.numbers == std::vector<double>{1, -30});
  CHECK(data.train.targets == std::vector<double>{10, 30});
  CHECK(data.notes == std::vector<std::string>{"dropped 1 of 3 rows with an empty cell"});
}

TEST_CASE("A test file shares the dictionary and the types of the training file") {
  const Data data = value_of(read("c,d,y\nx,1,1\n", "y", "c,d,y\na,one,2\n"));
  const auto& train = std::get<TableFeatures>(data.train.features);
  const auto& test = std::get<TableFeatures>(data.test.features);
  CHECK(train.words == test.words);
  CHECK(train.word_names.size() == 2);
  CHECK(train.words[0][train.codes[0]] == "x");
  CHECK(test.words[1][test.codes[1]] == "one");
}

TEST_CASE("A malformed table is an error that names line and cause") {
  const auto error = [](const std::string& text) {
    const auto result = read(text);
    REQUIRE(!result);
    return result.error().text;
  };
  CHECK(error("a,y\n1,2\n1,2,3\n").find("line 3: 3 fields, expected 2") != std::string::npos);
  CHECK(error("a,y\n1\n").find("line 2: 1 fields") != std::string::npos);
  CHECK(error("a,b\n1,2\n").find("expected one of a, b") != std::string::npos);
  CHECK(error("a,y\n1,red\n").find("line 2: target \"red\"") != std::string::npos);
  CHECK(error("a,y\n1,inf\n").find("line 2: target") != std::string::npos);
  CHECK(error("a,y\n\"1,2\n").find("never closed") != std::string::npos);
  CHECK(error("a,y\n\"1\"x,2\n").find("closing quote") != std::string::npos);
  CHECK(error("a,a,y\n1,1,2\n").find("repeated name") != std::string::npos);
  CHECK(error("a,y\n,2\n").find("no complete row") != std::string::npos);
  CHECK(error("y\n2\n").find("no column beside") != std::string::npos);
  CHECK(error("").find("empty") != std::string::npos);
  CHECK_FALSE(read("a,y\n1,2\n", "y", "b,y\n1,2\n"));
}

TEST_CASE("Random damage to a table gives an error or a table") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto result = read(damaged("a,b,y\n1,red,2\n3,\"x, y\",4\n", seed));
    if (!result) CHECK(result.error().text.size() < 300);
  }
}

TEST_CASE("Line numbers count the line ends inside quotes") {
  CsvReader reader("file", "a\n\"x\ny\"\n\nb,c\n");
  std::vector<std::string> fields;
  std::vector<std::size_t> lines;
  while (value_of(reader.next(fields))) lines.push_back(reader.line());
  CHECK(lines == std::vector<std::size_t>{1, 2, 5});
  CHECK(fields == std::vector<std::string>{"b", "c"});
}

TEST_CASE("California housing loses 207 rows and fits to within 69000 dollars") {
  const std::string path = real_data("california-housing.csv.gz");
  if (path.empty()) return;
  DataOptions options{.source = Source::csv, .path = path};
  options.target = "median_house_value";
  options.holdout = 0;
  const Data data = value_of(load(options));
  CHECK(data.train.rows == 20'640 - 207);
  CHECK(data.notes == std::vector<std::string>{"dropped 207 of 20,640 rows with an empty cell"});
  CHECK(closed_form_rmse(data) == doctest::Approx(68'656).epsilon(0.002));
}
