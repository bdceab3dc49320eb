#include "tests/sim/columns_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/salted_hash.h"
#include "models/data/table_builder.h"
#include "models/dual/dual_objective.h"

namespace starling::test {

using models::DualStep, models::Loss, models::RowMatrix, models::RowTruth;

namespace {

constexpr std::size_t kColumns = 12;

// A target that follows from all columns with noise.
struct Rows {
  explicit Rows(const ColumnsTable& table)
      : columns(static_cast<Eigen::Index>(table.rows), Eigen::Index{kColumns}) {
    Prng prng(7 + table.classes());
    const auto fill = [&prng](RowMatrix& matrix) {
      for (Eigen::Index k = 0; k < matrix.size(); ++k) matrix.data()[k] = prng.normal();
    };
    RowMatrix mix(kColumns, kColumns);
    fill(mix);
    fill(columns);
    columns = (columns * (RowMatrix::Identity(kColumns, kColumns) + 0.15 * mix)).eval();
    RowMatrix truth(kColumns, static_cast<Eigen::Index>(table.outputs()));
    fill(truth);
    RowMatrix scores = columns * truth;
    for (Eigen::Index k = 0; k < scores.size(); ++k) scores.data()[k] += 0.5 + prng.normal();
    for (Eigen::Index r = 0; r < scores.rows(); ++r) {
      Eigen::Index best = scores(r, 0) > 0;
      if (table.classes() == 3) scores.row(r).maxCoeff(&best);
      targets.push_back(scores(r, 0));
      labels.push_back(static_cast<std::int32_t>(best));
    }
  }

  RowMatrix columns;
  std::vector<double> targets;
  std::vector<std::int32_t> labels;
};

// Which columns a site has.
std::vector<std::size_t> columns_of(std::size_t site, std::size_t sites) {
  std::vector<std::size_t> own;
  for (std::size_t c = site * kColumns / sites; c < (site + 1) * kColumns / sites; ++c)
    own.push_back(c);
  return own;
}

// The table of a site, whose rows lie in an order of its own.
std::shared_ptr<const models::Data> data_of(const ColumnsTable& table, std::size_t site) {
  const Rows rows(table);
  const std::vector<std::size_t> columns = columns_of(site, table.sites);
  models::TableLayout layout;
  for (const std::size_t c : columns)
    layout.columns.push_back({fmt::format("c{}", c), models::plain_form(models::Content::numbers)});
  if (site == holder_of(table)) layout.target = "y";
  layout.classifies = table.classes() > 0;
  models::TableBuilder builder(layout);
  auto data = std::make_shared<models::Data>();
  for (std::size_t at = 0; at < table.rows; ++at) {
    const std::size_t row = (at * 7 + site * 31) % table.rows;
    std::vector<models::Cell> cells;
    for (const std::size_t c : columns)
      cells.push_back({fmt::to_string(
          rows.columns(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(c)))});
    cells.push_back({table.classes() > 0 ? fmt::format("class {}", rows.labels[row])
                                         : fmt::to_string(rows.targets[row])});
    ENSURE(builder.add(cells, data->train).has_value(), "the cells fit the layout");
    data->train.keys.push_back(fmt::format("row {}", row));
  }
  builder.finish(data->train);
  return data;
}

}  // namespace

std::size_t ColumnsTable::classes() const {
  return loss == Loss::squared ? 0 : loss == Loss::logistic ? 2 : 3;
}

optim::Options columns_training() {
  optim::Options training;
  training.algorithm = optim::algorithm_named("admm");
  training.codec = optim::wire_form_named("f64");
  training.relaxation = models::kDualRelaxation;
  return training;
}

sim::TrainerFactory columns_trainers(const ColumnsTable& table) {
  return [table](std::size_t site) {
    models::ModelOptions model;
    model.l2 = table.l2;
    models::DataOptions data{.source = models::Source::csv, .target = "y"};
    data.split = models::Split::columns;
    data.key = "id";
    data.site = sim::name_of(site);
    return optim::make_trainer<double>(
        columns_training(),
        std::make_unique<models::DualObjective<double>>(model, data, data_of(table, site)), site,
        [] { return Time{}; });
  };
}

struct ColumnsJudge::State {
  explicit State(const ColumnsTable& of) : table(of), columns(Rows(of).columns) {
    columns.rowwise() -= columns.colwise().mean().eval();
    for (auto column : columns.colwise())
      column /= std::sqrt(column.squaredNorm() / static_cast<double>(table.rows));
    // In the order in which sites match their rows.
    std::vector<std::pair<std::uint64_t, Eigen::Index>> keys;
    for (std::size_t row = 0; row < table.rows; ++row)
      keys.emplace_back(salted_hash("1", fmt::format("row {}", row)),
                        static_cast<Eigen::Index>(row));
    std::ranges::sort(keys);
    for (const auto& [key, row] : keys) order.push_back(row);
  }

  double strength() const { return table.l2 * static_cast<double>(table.rows); }

  RowMatrix part(const std::vector<std::size_t>& of) const {
    RowMatrix part(columns.rows(), static_cast<Eigen::Index>(of.size()));
    for (Eigen::Index r = 0; r < part.rows(); ++r)
      for (Eigen::Index c = 0; c < part.cols(); ++c)
        part(r, c) = columns(order[static_cast<std::size_t>(r)],
                             static_cast<Eigen::Index>(of[static_cast<std::size_t>(c)]));
    return part;
  }

  // With the target in its own scale, as its site has it.
  std::vector<RowTruth> truths() const {
    const Rows rows(table);
    const double count = static_cast<double>(table.rows);
    double mean = 0, squares = 0;
    for (const double target : rows.targets) mean += target / count;
    for (const double target : rows.targets) squares += (target - mean) * (target - mean);
    std::vector<RowTruth> truths;
    for (const Eigen::Index at : order) {
      const auto row = static_cast<std::size_t>(at);
      truths.push_back({.target = (rows.targets[row] - mean) / std::sqrt(squares / count),
                        .label = rows.labels[row]});
    }
    return truths;
  }

  // One site with all these columns.
  RowMatrix weights(const std::vector<std::size_t>& of) const {
    DualStep all(part(of), strength(), table.outputs());
    all.learn(table.loss, truths());
    RowMatrix slopes;
    all.minimize(RowMatrix::Zero(columns.rows(), static_cast<Eigen::Index>(table.outputs())), 0,
                 slopes);
    return all.weights(slopes);
  }

  ColumnsTable table;
  RowMatrix columns;
  std::vector<Eigen::Index> order;
  std::vector<std::size_t> optimum_of;
  RowMatrix optimum;
};

ColumnsJudge::ColumnsJudge(const ColumnsTable& table) : state_(std::make_unique<State>(table)) {}
ColumnsJudge::~ColumnsJudge() = default;

double ColumnsJudge::error(const sim::World& world, bool of_all) {
  const ColumnsTable& table = state_->table;
  std::vector<std::size_t> columns;
  for (std::size_t site = 0; site < table.sites; ++site)
    if (of_all || world.runs(site))
      std::ranges::copy(columns_of(site, table.sites), std::back_inserter(columns));
  if (columns != state_->optimum_of) {
    state_->optimum_of = columns;
    state_->optimum = state_->weights(columns);
  }
  double squares = 0;
  for (const std::size_t site : world.running()) {
    const std::vector<std::size_t> own_columns = columns_of(site, table.sites);
    const RowMatrix own = state_->part(own_columns);
    const std::vector<double> x = world.trainer(site).parameters();
    if (x.size() != table.rows * table.outputs()) return 1e9;
    const Eigen::Map<const RowMatrix> slopes(x.data(), own.rows(),
                                             static_cast<Eigen::Index>(table.outputs()));
    const RowMatrix weights = -(own.transpose() * slopes) / state_->strength();
    const auto first = std::ranges::find(columns, own_columns.front()) - columns.begin();
    squares += (weights - state_->optimum.middleRows(first, own.cols())).squaredNorm();
  }
  return std::sqrt(squares) / state_->optimum.norm();
}

}  // namespace starling::test
