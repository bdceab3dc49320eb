// The dual of tables that are cut by columns: its step, and the rows that sites have in common.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <string>
#include <vector>

#include "base/prng.h"
#include "models/data/row_match.h"
#include "models/dual/dual_objective.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

RowMatrix normal(Prng& prng, Eigen::Index rows, Eigen::Index columns) {
  RowMatrix matrix(rows, columns);
  for (double& entry : matrix.reshaped<Eigen::RowMajor>()) entry = prng.normal();
  return matrix;
}

std::vector<RowTruth> truths(Prng& prng, std::size_t rows, std::int32_t classes) {
  std::vector<RowTruth> drawn(rows);
  for (RowTruth& truth : drawn)
    truth = {.target = prng.normal(),
             .label = static_cast<std::int32_t>(prng.next() % static_cast<unsigned>(classes))};
  return drawn;
}

// Of the loss at a row's scores.
double loss_of(Loss loss, const RowTruth& truth, std::span<const double> u) {
  if (loss == Loss::squared) return (u[0] - truth.target) * (u[0] - truth.target) / 2;
  if (loss == Loss::logistic) return std::log1p(std::exp(truth.label == 0 ? u[0] : -u[0]));
  double sum = 0;
  for (const double score : u) sum += std::exp(score);
  return std::log(sum) - u[static_cast<std::size_t>(truth.label)];
}

const std::vector<std::pair<Loss, std::size_t>> kForms{
    {Loss::squared, 1}, {Loss::logistic, 1}, {Loss::cross_entropy, 3}};

// A table of `rows` keys, with or without a target, whose cells of one column are numbers.
std::string table_text(const std::vector<int>& keys, const std::string& column,
                       const std::function<std::string(int)>& target = {}) {
  std::string text = "id," + column + (target ? ",y" : "") + "\n";
  for (const int key : keys)
    text += fmt::format("k{},{}{}\n", key, key * 37 % 101, target ? "," + target(key) : "");
  return text;
}

DataOptions column_options(const std::string& path, const std::string& site) {
  DataOptions options = site_options(path);
  options.split = Split::columns;
  options.key = "id";
  options.site = site;
  return options;
}

SiteRows rows_of(const Folder& folder, const std::string& site, const std::string& text) {
  const DataOptions options = column_options(folder.write(site + ".csv", text), site);
  return site_rows(value_of(load(options)).train, site, "1");
}

std::vector<int> numbers(int first, int end) {
  std::vector<int> all(static_cast<std::size_t>(end - first));
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::string amount(int key) {
  return std::to_string(key * 3 % 17) + ".5";
}

}  // namespace

TEST_CASE("The envelope of a loss has the minimum and the derivatives that it says") {
  Prng prng(3);
  for (const auto& [loss, outputs] : kForms)
    for (const double c : {0.0, 0.3, 4.0, 60.0})
      for (int turn = 0; turn < 20; ++turn) {
        LossEnvelope envelope(loss, outputs);
        const RowTruth truth = truths(prng, 1, outputs == 3 ? 3 : 2)[0];
        std::vector<double> v(outputs), u(outputs), slope(outputs), bend(outputs);
        for (double& score : v) score = 3 * prng.normal();
        const double value = envelope.at(truth, c, v, u, slope, bend);
        double at_minimum = loss_of(loss, truth, u);
        for (std::size_t k = 0; k < outputs && c > 0; ++k)
          at_minimum += (u[k] - v[k]) * (u[k] - v[k]) / (2 * c);
        CHECK(value == doctest::Approx(at_minimum).epsilon(1e-9));
        const RowLoss told = loss_of_slopes(loss, slope);
        CHECK(told.loss == doctest::Approx(loss_of(loss, truth, u)).epsilon(1e-6));
        double total = 0;
        for (const double one : bend) total += one;
        for (std::size_t k = 0; k < outputs; ++k) {
          constexpr double kStep = 1e-5;
          const auto shifted = [&](double by, std::vector<double>& slopes) {
            std::vector<double> moved = v, guess = u, bends(outputs);
            moved[k] += by;
            return envelope.at(truth, c, moved, guess, slopes, bends);
          };
          std::vector<double> up(outputs), down(outputs);
          const double rise = shifted(kStep, up) - shifted(-kStep, down);
          CHECK(slope[k] == doctest::Approx(rise / (2 * kStep)).epsilon(1e-4));
          const double bends = bend[k] - (outputs > 1 ? bend[k] * bend[k] / total : 0);
          CHECK(std::abs(bends - (up[k] - down[k]) / (2 * kStep)) < 1e-4);
        }
      }
}

// Where it is least, F + <c, x> + mu / 2 |x|^2 has no slope: W and b are those of the slopes, and
// the slopes those of the scores.
TEST_CASE("A step of the dual ends where nothing descends") {
  Prng prng(5);
  constexpr Eigen::Index kRows = 60, kWidth = 4;
  for (const auto& [loss, outputs] : kForms)
    for (const double c : {0.0, 0.5, 20.0}) {
      const RowMatrix columns = normal(prng, kRows, kWidth);
      const RowMatrix q = normal(prng, kRows, static_cast<Eigen::Index>(outputs));
      const std::vector<RowTruth> drawn = truths(prng, kRows, outputs == 3 ? 3 : 2);
      DualStep step(columns, 0.6, outputs);
      step.learn(loss, drawn);
      RowMatrix theta;
      step.minimize(q, c, theta);
      const RowMatrix weights = step.weights(theta);
      CHECK(theta.colwise().sum().cwiseAbs().maxCoeff() < 1e-8);
      RowMatrix v = columns * weights + q;
      for (std::size_t k = 0; k < outputs; ++k)
        v.col(static_cast<Eigen::Index>(k)).array() += step.intercept()[k];
      for (Eigen::Index r = 0; r < kRows; ++r) {
        std::vector<double> u(outputs), slope(outputs), bend(outputs);
        LossEnvelope(loss, outputs)
            .at(drawn[static_cast<std::size_t>(r)], c, std::span(v.row(r).data(), outputs), u,
                slope, bend);
        for (std::size_t k = 0; k < outputs; ++k)
          CHECK(std::abs(slope[k] - theta(r, static_cast<Eigen::Index>(k))) < 1e-8);
      }
    }
}

TEST_CASE("A step of columns alone solves its normal equations") {
  Prng prng(6);
  const RowMatrix columns = normal(prng, 30, 3), q = normal(prng, 30, 2);
  DualStep step(columns, 0.4, 2);
  RowMatrix theta;
  step.minimize(q, 1.7, theta);
  const RowMatrix left = columns * columns.transpose() / 0.4 * theta + 1.7 * theta;
  CHECK((left - q).norm() < 1e-10);
}

TEST_CASE("Sites match the rows that all have in any order") {
  const Folder folder("match");
  const std::vector<SiteRows> sites{rows_of(folder, "a", table_text(numbers(0, 40), "one")),
                                    rows_of(folder, "b", table_text(numbers(5, 60), "two", amount)),
                                    rows_of(folder, "c", table_text(numbers(1, 50), "three"))};
  const RowMatch match = value_of(match_rows(sites));
  CHECK(match.rows.keys.size() == 35);
  CHECK(match.rows.site == "b");
  CHECK(match.notes ==
        std::vector<std::string>{"14 of the 49 rows of c are not at every site, and left out",
                                 "20 of the 55 rows of b are not at every site, and left out",
                                 "5 of the 40 rows of a are not at every site, and left out"});
  const std::vector<SiteRows> turned{sites[2], sites[0], sites[1]};
  CHECK(encode(value_of(match_rows(turned)).rows) == encode(match.rows));
  for (const SiteRows& site : sites)
    CHECK(encode(value_of(decode_site_rows(encode(site)))) == encode(site));
}

TEST_CASE("What sites cannot match is an error that says why") {
  const Folder folder("no-match");
  const auto refusal = [&](const std::string& one, const std::string& other) {
    const std::vector<SiteRows> sites{rows_of(folder, "a", one), rows_of(folder, "b", other)};
    const auto match = match_rows(sites);
    return match ? std::string() : match.error().text;
  };
  const auto rows = numbers(0, 40);
  CHECK(refusal(table_text(rows, "one"), table_text(rows, "two")).find("no site has the target") !=
        std::string::npos);
  CHECK(refusal(table_text(rows, "one", amount), table_text(numbers(100, 140), "two"))
            .find("no row is at every site: a has 40, b has 40") != std::string::npos);
  const auto other = [](int key) { return key == 17 ? "99" : amount(key); };
  CHECK(refusal(table_text(rows, "one", amount), table_text(rows, "two", other))
            .find("the targets of a and b differ") != std::string::npos);
  CHECK(refusal(table_text(rows, "one", amount), table_text(rows, "two", amount)).empty());
  // Other rows at each site do not hide it.
  CHECK(refusal(table_text(numbers(0, 400), "one", amount),
                table_text(numbers(20, 430), "two", [](int) { return "1"; }))
            .find("differ") != std::string::npos);
}

TEST_CASE("A key that names two rows is refused and a row without one is left out") {
  const Folder folder("keys");
  const auto twice =
      load(column_options(folder.write("twice.csv", "id,one\nk1,1\nk2,2\n k1 ,3\n"), "node-0"));
  REQUIRE_FALSE(twice);
  CHECK(twice.error().text.find("line 4: id holds \"k1\", and so does line 2") !=
        std::string::npos);
  const Data some = value_of(
      load(column_options(folder.write("some.csv", "id,one,y\nk1,1,2\n,2,3\nk3,3,\n"), "node-0")));
  CHECK(some.train.rows == 1);
  CHECK(some.train.keys.size() == 1);
  CHECK(std::ranges::count(some.notes, "left out 1 of 3 rows without a key") == 1);
  const auto none = load(column_options(folder.write("none.csv", "one,y\n1,2\n"), "node-0"));
  REQUIRE_FALSE(none);
  CHECK(none.error().text.find("data.key = \"id\" is no column") != std::string::npos);
}

TEST_CASE("A site has a column of its own and no more rows than a survey tells of") {
  const Folder folder("limits");
  const auto bare = load(column_options(folder.write("bare.csv", "id,y\nk1,1\nk2,2\n"), "node-0"));
  REQUIRE_FALSE(bare);
  CHECK(bare.error().text.find("each site has a column of its own") != std::string::npos);
  std::string text = "id,a\n";
  for (std::size_t row = 0; row <= kMatchedRowsLimit; ++row)
    text += fmt::format("{},{}\n", row, row % 7);
  const auto large = load(column_options(folder.write("large.csv", text), "node-0"));
  REQUIRE_FALSE(large);
  CHECK(large.error().text.find("60,001 rows") != std::string::npos);
}

// Outside data: cut off, or with bytes changed, it is an error or something that encodes alike.
TEST_CASE("A damaged survey of rows harms nobody") {
  const Folder folder("damaged");
  const std::string text = encode(rows_of(folder, "a", table_text(numbers(0, 30), "one", amount)));
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(decode_site_rows(text.substr(0, size)));
  Prng prng(1);
  for (int turn = 0; turn < 2000; ++turn) {
    std::string changed = text;
    changed[prng.next() % text.size()] = static_cast<char>(prng.next());
    if (const auto read = decode_site_rows(changed)) CHECK(encode(*read) == changed);
  }
}
