// Every kind of model on data of every kind, small enough to be differentiated numerically.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/models/support.h"

namespace starling::models {

template <class S>
using Owned = std::unique_ptr<optim::Objective<S>>;

template <class S>
Owned<S> make(const ModelOptions& model, const DataOptions& options,
              const std::shared_ptr<const Data>& data, const optim::Shard& shard) {
  Owned<S> objective = value_of(make_objective<S>(model, options, data));
  objective->assign(shard);
  if (const std::string survey = objective->survey(); !survey.empty())
    REQUIRE(objective->found(std::vector<std::string>{survey}));
  return objective;
}

inline std::vector<double> random_point(std::size_t size) {
  Prng prng(9);
  std::vector<double> x(size);
  for (double& value : x) value = 0.3 * prng.normal();
  return x;
}

struct Case {
  ModelOptions model;
  DataOptions data;
};

inline constexpr const char* kTable =
    "size,kind,price\n1,flat,10\n2,house,25\n3,flat,28\n5,barn,11\n4,house,40\n6,flat,70\n7,flat,"
    "80\n";
inline constexpr const char* kSparse =
    "+1 1:1 4:0.5\n-1 2:1\n+1 3:-1 4:2\n-1 1:0.2 2:0.7\n+1 5:1\n-1 3:1 5:-0.3\n-1\n";
inline constexpr const char* kManyClasses =
    "0 1:1 4:0.5\n1 2:1\n2 3:-1 4:2\n0 1:0.2\n1 5:1\n2 5:-0.3\n";

inline std::vector<Case> every_model(const Folder& folder) {
  const DataOptions digits{.source = Source::digits, .samples = 40};
  const DataOptions houses{.source = Source::houses, .samples = 300};
  const DataOptions reference{.source = Source::reference};
  DataOptions csv{.source = Source::csv, .path = folder.write("a.csv", kTable)};
  csv.target = "price";
  csv.holdout = 0;
  DataOptions sparse{.source = Source::libsvm, .path = folder.write("two", kSparse)};
  sparse.holdout = 0;
  DataOptions many{.source = Source::libsvm, .path = folder.write("many", kManyClasses)};
  many.holdout = 0;
  const std::vector<std::size_t> hidden{7, 5};
  return {{{.kind = ModelKind::softmax, .l2 = 0.1}, digits},
          {{.kind = ModelKind::mlp, .hidden = hidden, .l2 = 0.01}, digits},
          {{.kind = ModelKind::net, .layers = layers_of("conv:3:5,pool:4,dense:6"), .l2 = 0.01},
           digits},
          {{.kind = ModelKind::linear, .l2 = 0.1}, houses},
          {{.kind = ModelKind::mlp, .hidden = hidden}, houses},
          {{.kind = ModelKind::linear}, reference},
          {{.kind = ModelKind::linear, .l2 = 0.3}, csv},
          {{.kind = ModelKind::mlp, .hidden = hidden}, csv},
          {{.kind = ModelKind::logistic}, sparse},
          {{.kind = ModelKind::logistic, .l2 = 0.1}, sparse},
          {{.kind = ModelKind::mlp, .hidden = hidden}, sparse},
          {{.kind = ModelKind::softmax}, many}};
}

// Calls `check` with each model and its objective on all data. `l2` takes the place of the models'
// own. A folder with `folder_name` in its name holds the files of the data.
inline void for_every_model(
    const std::string& folder_name,
    const std::function<void(const Case& each, optim::Objective<double>& objective)>& check,
    std::optional<double> l2 = {}) {
  const Folder folder(folder_name);
  for (Case each : every_model(folder)) {
    CAPTURE(to_string(each.model.kind));
    CAPTURE(to_string(each.data.source));
    if (l2) each.model.l2 = *l2;
    check(each, *make<double>(each.model, each.data, load_shared(each.data), shard_of(1, 0)));
  }
}

// The same objective in float.
inline Owned<float> in_float(const Case& each) {
  return make<float>(each.model, each.data, load_shared(each.data), shard_of(1, 0));
}

}  // namespace starling::models
