#include "optim/relay.h"

#include <string>
#include <utility>
#include <vector>

#include "optim/local/relay_learner.h"
#include "optim/saved_state.h"

namespace starling::optim {
namespace {

// There is no optimizer whose state could be remembered.
Options without_optimizer(const Options& options) {
  Options without = options;
  without.local_optimizer = LocalOptimizerKind::sgd;
  return without;
}

std::vector<ParameterBlock> blocks_of(const SavedState& saved) {
  std::vector<ParameterBlock> blocks;
  for (const SavedField& field : saved.parameters)
    blocks.push_back({field.name, field.extents, dimension_of(blocks)});
  return blocks;
}

// A trainer has one shape. That of a relay begins without, and anew with each model that comes.
template <class S>
class Relay final : public Trainer {
 public:
  Relay(const Options& options, std::function<Time()> clock)
      : options_(without_optimizer(options)), clock_(std::move(clock)) {
    begin({}, {});
  }

  Workload workload() const override { return inner_->workload(); }
  std::vector<double> parameters() const override { return inner_->parameters(); }
  std::vector<double> optimum() const override { return {}; }

  Done run(const Job& job) override {
    std::shared_ptr<const SavedState> model = job.resume;
    if (job.adopt)
      if (auto saved = decode_saved_state(*job.adopt))
        model = std::make_shared<const SavedState>(*std::move(saved));
    if (model) begin(model->schema, blocks_of(*model));
    Done done = inner_->run(job);
    if (model && done.problem) {
      begin({}, {});
      done.workload = workload();
    }
    // They say what does not fit the optimizer.
    if (done.workload) done.workload->notes.clear();
    return done;
  }

 private:
  void begin(std::string schema, std::vector<ParameterBlock> blocks) {
    auto learner = std::make_unique<RelayLearner<S>>(std::move(schema), std::move(blocks));
    LocalData& data = *learner;
    inner_ =
        make_trainer<S>(options_, std::unique_ptr<Learner<S>>(std::move(learner)), data, clock_);
    Job job;
    job.shard = std::make_shared<const Shard>();
    inner_->run(job);
  }

  Options options_;
  std::function<Time()> clock_;
  std::unique_ptr<Trainer> inner_;
};

}  // namespace

template <class S>
std::unique_ptr<Trainer> make_relay(const Options& options, std::function<Time()> clock) {
  return std::make_unique<Relay<S>>(options, std::move(clock));
}

template std::unique_ptr<Trainer> make_relay<float>(const Options&, std::function<Time()>);
template std::unique_ptr<Trainer> make_relay<double>(const Options&, std::function<Time()>);

}  // namespace starling::optim
