// OwnColumns: what a site's table means once the rows of all sites are matched: its features, those
// of the rows in common, and the model of its columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/dataset.h"
#include "models/data/row_match.h"
#include "models/dual/dual_step.h"
#include "models/linear/feature_map.h"
#include "models/nets/model_card.h"
#include "models/nets/model_options.h"

namespace starling::models {

class OwnColumns {
 public:
  // `surveys`: of all founders, or a matched one. The error says why they do not fit.
  static Result<OwnColumns> found(const ModelOptions& model, const DataOptions& options,
                                  const Dataset& set, std::span<const std::string> surveys);

  const SiteRows& matched() const { return match_.rows; }
  std::size_t rows() const { return match_.rows.keys.size(); }
  std::size_t outputs() const { return card_.shape.outputs(); }
  bool is_holder() const { return is_holder_; }  // of the target that is learned
  const ModelCard& card() const { return card_; }
  // For people, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  // The features of the rows in common less their means; 0 for a row that this site lacks.
  RowMatrix features(const Dataset& set);
  // REQUIRES the holder.
  std::vector<RowTruth> truths(const Dataset& set) const;
  // The parameters of the card's model: W, and a bias with which its outputs are A W + b.
  std::vector<double> parameters(const RowMatrix& weights, std::span<const double> b) const;
  // An amount of the target for a score; REQUIRES the holder of one.
  double amount(double score) const { return map_.amount(score); }

 private:
  explicit OwnColumns(FeatureMap map) : map_(std::move(map)) {}

  RowMatch match_;
  FeatureMap map_;
  ModelCard card_;
  std::vector<std::uint32_t> places_;  // of each row in common, in the table, or kLacks
  std::vector<double> means_;          // of the features
  std::size_t lacking_ = 0;            // of the rows in common, at this site
  bool is_holder_ = false;
  std::vector<std::string> notes_;
};

}  // namespace starling::models
