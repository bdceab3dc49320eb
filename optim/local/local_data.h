// LocalData: what nodes must agree on about data: features before the first step, and which node
// has which samples. The trainer is the only caller. One thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "optim/workload.h"

namespace starling::optim {

struct DataSummary {
  std::size_t samples = 0;  // held by this node now
  std::string shard;        // which those are, for people
  // A text that differs whenever averaging two models would be meaningless: kind, sizes, features.
  std::string schema;
  // For people: where this node's data differ from the foundation, a sentence each.
  std::vector<std::string> notes = {};
  // As in Workload.
  std::string strangeness = {};
  std::string late_survey = {};
  bool needs_model = false;
  std::optional<PrivacySpent> privacy = {};
  Preparation preparation = {};
  // The known minimiser of the mean of all F_i, for the present shards; empty when unknown. Valid
  // until the next assign() or refresh().
  std::span<const double> optimum = {};
  // Of x, the parameters of the model to predict with; null: they are x. Valid as long as the data.
  std::function<std::vector<double>(std::span<const double> x)> model_of = nullptr;
};

class LocalData {
 public:
  virtual ~LocalData() = default;

  // This node's share of the data's statistics (sums, categories), opaque to everyone else; empty
  // when the model needs none. Made from this node's own samples only.
  virtual std::string survey() const { return {}; }
  // Sets the feature statistics from the surveys of all founders, own included, in an agreed
  // order. Called once, before there are blocks where survey() is not empty. A peer's survey is
  // outside data: a malformed one is an error, and changes nothing.
  virtual Result<void> found(std::span<const std::string> surveys) {
    static_cast<void>(surveys);
    return {};
  }
  // A survey that alone gives a newcomer the same features. REQUIRES a foundation.
  virtual std::string foundation() const { return {}; }
  // Sets which samples are this node's. May be called at any time.
  virtual void assign(const Shard& shard) = 0;
  // Between steps: takes over samples that assign() had read elsewhere, and drops those of others.
  // Returns whether describe() has changed.
  virtual bool refresh() { return false; }
  virtual DataSummary describe() const = 0;
};

}  // namespace starling::optim
