// Trainer: owns every number of a node. It takes a Job and gives a Done; between two jobs nothing
// happens. One thread at a time. To add another way to learn: a Learner and a LocalData, given to
// make_trainer().
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "optim/job.h"
#include "optim/local/learner.h"
#include "optim/local/local_data.h"
#include "optim/local/objective.h"
#include "optim/options.h"

namespace starling::optim {

class Trainer {
 public:
  virtual ~Trainer() = default;

  // For the protocol. The first job assigns a shard; if the workload then has a survey, the next
  // job lays the foundation. Before that there is no model.
  virtual Workload workload() const = 0;
  virtual Done run(const Job& job) = 0;
  // The current parameters as doubles, for the simulator's checkers and for tests.
  virtual std::vector<double> parameters() const = 0;
  // The parameters of the model to predict with, which may follow from these (LocalData).
  virtual std::vector<double> model() const { return parameters(); }
  // The known optimum of the run, empty when there is none.
  virtual std::vector<double> optimum() const = 0;
};

// Trains what `learner` learns. `data` is a part of it, or outlives the trainer. `clock` measures
// jobs; the simulator's stands still.
template <class S>
std::unique_ptr<Trainer> make_trainer(const Options& options, std::unique_ptr<Learner<S>> learner,
                                      LocalData& data, std::function<Time()> clock);

// The same with a LocalLearner of the objective. `stream` differs by node, so that batches do.
template <class S>
std::unique_ptr<Trainer> make_trainer(const Options& options,
                                      std::unique_ptr<Objective<S>> objective, std::uint64_t stream,
                                      std::function<Time()> clock);

}  // namespace starling::optim
