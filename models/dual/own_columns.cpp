#include "models/dual/own_columns.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "models/data/survey.h"

namespace starling::models {
namespace {

constexpr std::uint32_t kLacks = std::numeric_limits<std::uint32_t>::max();

// The place in the table of each of these keys.
std::vector<std::uint32_t> places_of(const std::vector<std::uint64_t>& keys, const Dataset& set,
                                     std::string_view salt) {
  const std::vector<std::uint64_t> hashed = hashed_keys(set, salt);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> own;
  for (std::uint32_t row = 0; row < set.rows; ++row) own.emplace_back(hashed[row], row);
  std::ranges::sort(own);
  std::vector<std::uint32_t> places;
  auto at = own.begin();
  for (const std::uint64_t key : keys) {
    at = std::lower_bound(at, own.end(), std::pair(key, std::uint32_t{0}));
    places.push_back(at != own.end() && at->first == key ? at->second : kLacks);
  }
  return places;
}

Result<ModelKind> kind_for(const ModelOptions& model, const SiteRows& rows) {
  const std::size_t classes = rows.classes.size();
  if (rows.classifies && classes < 2)
    return fail("the target has one class, \"{}\", at {}; expected at least two",
                fmt::join(rows.classes, ""), rows.site);
  const ModelKind fitting = !rows.classifies ? ModelKind::linear
                            : classes == 2   ? ModelKind::logistic
                                             : ModelKind::softmax;
  if (model.kind == ModelKind::automatic || model.kind == fitting) return fitting;
  if (model.kind == ModelKind::softmax && rows.classifies) return model.kind;
  return fail("model.kind = {} does not fit the target of {}, which {}; expected {}",
              to_string(model.kind), rows.site,
              rows.classifies ? fmt::format("has {} classes", classes) : "holds amounts",
              to_string(fitting));
}

// Of the rows of this site, with the target of all.
Result<Survey> survey_of(const DataOptions& options, const Dataset& set,
                         std::span<const std::uint32_t> places, const SiteRows& matched,
                         bool is_holder) {
  std::vector<std::uint32_t> own;
  std::ranges::copy_if(places, std::back_inserter(own),
                       [](std::uint32_t place) { return place != kLacks; });
  std::ranges::sort(own);
  Survey survey = make_survey(set, own, options.hash_bits, 0,
                              options.target_scale == TargetScale::log && is_holder);
  survey.target = options.target;
  survey.classifies = matched.classifies;
  survey.classes = matched.classes;
  if (!is_holder) survey.amounts = {}, survey.is_log = false;
  return merge(std::array{std::move(survey)});
}

}  // namespace

Result<OwnColumns> OwnColumns::found(const ModelOptions& model, const DataOptions& options,
                                     const Dataset& set, std::span<const std::string> surveys) {
  std::vector<SiteRows> sites;
  for (const std::string& text : surveys) {
    TRY(SiteRows site, decode_site_rows(text));
    sites.push_back(std::move(site));
  }
  TRY(RowMatch match, match_rows(sites));
  ModelOptions resolved = model;
  TRY(resolved.kind, kind_for(model, match.rows));
  std::vector<std::uint32_t> places = places_of(match.rows.keys, set, key_salt(options));
  const auto lacking = static_cast<std::size_t>(std::ranges::count(places, kLacks));
  if (lacking == places.size())
    return fail("of the {} rows that the fleet has matched, none is in {}",
                with_commas(places.size()), options.path);
  const bool is_holder = set.has_truth() && match.rows.site == options.site;
  TRY(Survey survey, survey_of(options, set, places, match.rows, is_holder));
  TRY(FeatureMap map, FeatureMap::found(set, survey));
  OwnColumns own(std::move(map));
  own.places_ = std::move(places);
  own.lacking_ = lacking;
  own.is_holder_ = is_holder;
  own.notes_ = match.notes;
  if (lacking > 0)
    own.notes_.push_back(
        fmt::format("{} of the {} rows that the fleet has matched are not here, "
                    "and count as mean ones",
                    with_commas(lacking), with_commas(own.places_.size())));
  ModelCard& card = own.card_;
  card.kind = resolved.kind;
  card.source = options.source;
  card.classes = survey.classes.size();
  card.l2 = model.l2.value_or(1 / static_cast<double>(own.places_.size()));
  if (!(card.l2 > 0))
    return fail("model.l2 = {}: columns apart need a strength above 0, or auto", card.l2);
  card.shape = shape_of(resolved, options.source, SampleShape(own.map_.width()), card.classes);
  TRY_DO(check_shape(card.kind, card.shape));
  if (const std::size_t weights = dimension(card.shape); weights > kDualWeightsLimit)
    return fail("the columns of {} make {} weights, and columns apart are learned with at most {}",
                options.path, with_commas(weights), with_commas(kDualWeightsLimit));
  card.table = std::move(survey);
  card.part = {.key = options.key,
               .site = options.site,
               .holder = match.rows.site,
               .sites = match.rows.sites};
  own.match_ = std::move(match);
  return own;
}

RowMatrix OwnColumns::features(const Dataset& set) {
  const auto width = static_cast<Eigen::Index>(map_.width());
  RowMatrix features = RowMatrix::Zero(static_cast<Eigen::Index>(rows()), width);
  for (std::size_t row = 0; row < rows(); ++row)
    if (places_[row] != kLacks)
      map_.gather(set, std::span(&places_[row], 1),
                  features.row(static_cast<Eigen::Index>(row)).data());
  const double present = static_cast<double>(rows() - lacking_);
  const Eigen::RowVectorXd means = features.colwise().sum() / present;
  means_.assign(means.begin(), means.end());
  for (std::size_t row = 0; row < rows(); ++row)
    if (places_[row] != kLacks) features.row(static_cast<Eigen::Index>(row)) -= means;
  return features;
}

std::vector<RowTruth> OwnColumns::truths(const Dataset& set) const {
  std::vector<RowTruth> truths(rows());
  for (std::size_t row = 0; row < rows(); ++row) {
    if (card_.classes > 0)
      truths[row].label = set.labels[places_[row]];
    else
      map_.gather_targets(set, std::span(&places_[row], 1), &truths[row].target);
  }
  return truths;
}

std::vector<double> OwnColumns::parameters(const RowMatrix& weights,
                                           std::span<const double> b) const {
  std::vector<double> parameters(weights.data(), weights.data() + weights.size());
  const Eigen::Map<const Eigen::RowVectorXd> means(means_.data(), weights.rows());
  const Eigen::RowVectorXd shift = means * weights;
  for (std::size_t k = 0; k < b.size(); ++k)
    parameters.push_back(b[k] - shift(static_cast<Eigen::Index>(k)));
  return parameters;
}

}  // namespace starling::models
