// Tables of correlated columns that are cut by columns: what each site learns from, and how far its
// weights are from the optimum of the columns of all sites.
#pragma once

#include <cstddef>
#include <memory>

#include "models/linear/loss.h"
#include "optim/options.h"
#include "sim/options.h"
#include "sim/world.h"

namespace starling::test {

struct ColumnsTable {
  models::Loss loss = models::Loss::squared;
  std::size_t sites = 3;
  std::size_t rows = 400;
  double l2 = 1e-2;

  std::size_t classes() const;
  std::size_t outputs() const { return classes() == 3 ? 3 : 1; }
};

// The site in the middle has the target.
inline std::size_t holder_of(const ColumnsTable& table) {
  return table.sites / 2;
}

optim::Options columns_training();
sim::TrainerFactory columns_trainers(const ColumnsTable& table);

// Of the weights of the sites that run, beside the optimum of their columns alone, or of those of
// all sites; relative.
class ColumnsJudge {
 public:
  explicit ColumnsJudge(const ColumnsTable& table);
  ~ColumnsJudge();
  double error(const sim::World& world, bool of_all = false);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::test
