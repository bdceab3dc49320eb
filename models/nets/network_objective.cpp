#include "models/nets/network_objective.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "models/data/survey_notes.h"
#include "models/data/table_notes.h"
#include "models/linear/gemm.h"

namespace starling::models {
namespace {

// Enough rows to keep gemm busy, few enough to stay in cache; fewer where rows are long.
constexpr std::size_t kBlockRows = 256;
constexpr std::size_t kBlockNumbers = std::size_t{1} << 20;
constexpr std::size_t kLeastBlockRows = 16;

// A closed form of d parameters costs d^2 numbers of memory and d^3 / 3 operations.
constexpr std::size_t kClosedFormLimit = 1024;

template <class T>
T* grown(std::vector<T>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
  return buffer.data();
}

// Checks that need the survey of all founders.
Result<void> check_founded(const ModelOptions& model, const Survey& survey, std::size_t width) {
  const std::size_t classes = survey.classes.size();
  if (survey.classifies && classes < 2)
    return fail("target {} has one class, \"{}\", at all nodes together; expected at least two",
                survey.target, fmt::join(survey.classes, ""));
  if (model.kind == ModelKind::logistic && classes != 2)
    return fail(
        "model.kind = logistic tells two classes apart, and target {} has {} ({}); expected "
        "softmax or mlp",
        survey.target, classes, fmt::join(survey.classes, ", "));
  return check_shape(model.kind, shape_of(model, Source::csv, SampleShape(width), classes));
}

// The differences between one node's rows and the model.
std::vector<std::string> founding_notes(const Dataset& train, const Survey& survey,
                                        const FeatureMap& map) {
  std::vector<std::string> notes;
  const auto& table = std::get<TableFeatures>(train.features);
  if (survey.classifies)
    notes.push_back(fmt::format("classes of {} over all nodes: {}", survey.target,
                                fmt::join(survey.classes, ", ")));
  for (std::size_t c = 0; c < map.classes().size(); ++c)
    if (map.classes()[c] < 0)
      notes.push_back(fmt::format("rows of class {} are left out: the model was founded without it",
                                  train.class_names[c]));
  for (const auto& column : table.columns) {
    if (!survey.find(column.name))
      notes.push_back(fmt::format("column {} is not in the model, and left out", column.name));
    if (column.content != Content::words) continue;
    const auto& places = map.places(column.slot);
    if (const auto unknown = std::ranges::count(places, FeatureMap::kUnknown); unknown > 0)
      notes.push_back(fmt::format(
          "column {}: {} of {} words are unknown to the model, and count as none of its words",
          column.name, unknown, places.size()));
  }
  return notes;
}

}  // namespace

template <class S>
NetworkObjective<S>::NetworkObjective(ModelOptions model, Share share)
    : model_(std::move(model)),
      share_(std::move(share)),
      dealt_(dealt_file(share_.data(), share_.options())),
      map_(share_.train()),
      l2_(l2_of(model_, {})) {
  if (!share_.train().is_table()) make_network();
}

template <class S>
void NetworkObjective<S>::make_network() {
  const std::size_t classes = survey_ ? survey_->classes.size() : share_.train().classes;
  const SampleShape input =
      survey_ ? SampleShape(map_.width()) : input_of(model_.kind, share_.train());
  network_.emplace(shape_of(model_, share_.options().source, input, classes));
  blocks_ = tensors(network_->shape());
}

template <class S>
std::string NetworkObjective<S>::survey() const {
  if (!share_.train().is_table()) return {};
  Survey survey = model_.start
                      ? *model_.start->card.table
                      : make_survey(share_.train(), share_.rows(), share_.options().hash_bits,
                                    share_.options().suppress_below,
                                    share_.options().target_scale == TargetScale::log);
  survey.dealt = dealt_;
  survey.site = share_.options().site;
  // Of few rows it would tell of single ones.
  if (!model_.start && fitted_.size() >= share_.options().suppress_below)
    survey.trial = own_fit_.trial;
  return encode(survey);
}

template <class S>
Result<void> NetworkObjective<S>::found(std::span<const std::string> surveys) {
  if (!share_.train().is_table()) return {};
  TRY(const std::vector<Survey> told, decode_surveys(surveys));
  TRY(Survey survey, merge(told));
  TRY(FeatureMap map, FeatureMap::found(share_.train(), survey));
  TRY_DO(check_founded(model_, survey, map.width()));
  TRY(const std::vector<double> weights, weights_of(model_.class_weights, survey));
  class_weights_.assign(weights.begin(), weights.end());
  map_ = std::move(map);
  survey_ = std::move(survey);
  l2_ = l2_of(model_, survey_);
  rare_.reset();
  if (const auto rare = rare_class(survey_->class_rows)) rare_ = {*rare, survey_->classes[*rare]};
  notes_ = founding_notes(share_.train(), *survey_, map_);
  std::ranges::move(differences(told), std::back_inserter(notes_));
  if (!model_.l2) notes_.push_back(fmt::format("model.l2 = {:.2g}: {}", l2_, explain_l2(*survey_)));
  make_network();
  std::vector<bool> left_out;
  for (const std::int32_t label : map_.classes()) left_out.push_back(label < 0);
  if (std::ranges::count(left_out, true) > 0) share_.leave_out(std::move(left_out));
  return {};
}

// Beside noisy steps nothing else may come from the rows.
template <class S>
void NetworkObjective<S>::look_at_own_rows() {
  const Dataset& train = share_.train();
  if (!train.is_table() || survey_ || model_.is_private || share_.rows() == fitted_) return;
  fitted_ = share_.rows();
  own_fit_ = fit_own_rows(model_, share_.options(), train, fitted_, share_.data().test);
}

template <class S>
void NetworkObjective<S>::assign(const optim::Shard& shard) {
  // A newcomer waits for its model now.
  if constexpr (std::is_same_v<S, float>) prepare_gemm();
  const Assignment assignment = share_.assign(shard);
  look_at_own_rows();
  const Source source = share_.options().source;
  optimum_.clear();
  equations_.reset();
  if (model_.kind != ModelKind::linear || (source != Source::houses && source != Source::reference))
    return;
  const std::vector<double> best = least_squares(
      share_.train(), assignment.parts,
      {.bias = network_->shape().bias, .l2 = l2_, .weight_decay = model_.weight_decay});
  for (const double value : best) optimum_.push_back(static_cast<double>(static_cast<S>(value)));
}

template <class S>
bool NetworkObjective<S>::refresh() {
  const bool is_changed = share_.refresh();
  if (is_changed) equations_.reset();
  return is_changed;
}

template <class S>
std::string NetworkObjective<S>::strangeness() const {
  if (!dealt_ || !survey_ || !survey_->dealt || *survey_->dealt == *dealt_) return {};
  return difference({*dealt_, "of this node"}, {*survey_->dealt, "of the founders"});
}

template <class S>
optim::DataSummary NetworkObjective<S>::describe() const {
  const auto source = to_string(share_.options().source);
  optim::DataSummary summary{
      .samples = samples(),
      .shard = share_.description(),
      .schema = fmt::format("{} of {}, not founded", to_string(model_.kind), source),
      .notes = notes_,
      .strangeness = strangeness(),
      .optimum = optimum_};
  std::ranges::copy(share_.notes(), std::back_inserter(summary.notes));
  if (!summary.strangeness.empty()) summary.notes.push_back(summary.strangeness);
  summary.preparation.alone = own_fit_.alone;
  if (network_) summary.preparation.l2 = l2_;
  if (survey_ && !model_.l2) summary.preparation.l2_reason = explain_l2(*survey_);
  if (network_)
    summary.schema =
        fmt::format("{} {}{} {} of {}, features {:016x}", to_string(model_.kind),
                    to_string(network_->shape()), network_->shape().bias ? "" : " without bias",
                    sizeof(S) == sizeof(float) ? "f32" : "f64", source, map_.fingerprint());
  return summary;
}

template <class S>
void NetworkObjective<S>::initialize(std::span<S> x, std::uint64_t seed) const {
  ENSURE(network_ && x.size() == this->dimension(), "a model is initialized once it is founded");
  if (!model_.start) return network_->initialize(x, seed);
  std::ranges::transform(model_.start->parameters, x.begin(),
                         [](double value) { return static_cast<S>(value); });
}

template <class S>
void NetworkObjective<S>::for_each_block(const Selection& selection, auto visit) {
  const Dataset& set = *selection.set;
  const std::size_t most =
      std::clamp(kBlockNumbers / network_->widest(), kLeastBlockRows, kBlockRows);
  for (std::size_t start = 0; start < selection.rows.size(); start += most) {
    const auto rows = selection.rows.subspan(start, std::min(most, selection.rows.size() - start));
    Block<S> block{
        .rows = rows.size(), .inputs = grown(inputs_, rows.size() * map_.width()), .truth = {}};
    map_.gather(set, rows, inputs_.data());
    if (set.classes > 0) {
      block.truth.labels = grown(labels_, rows.size());
      const std::vector<std::int32_t>& agreed = map_.classes();
      std::ranges::transform(rows, labels_.begin(), [&](std::uint32_t r) {
        return agreed.empty() ? set.labels[r] : agreed[static_cast<std::size_t>(set.labels[r])];
      });
    } else {
      block.truth.targets = grown(targets_, rows.size());
      map_.gather_targets(set, rows, targets_.data());
    }
    visit(block, start == 0);
  }
}

template <class S>
double NetworkObjective<S>::loss_and_gradient(std::span<const S> x,
                                              std::span<const std::uint32_t> batch,
                                              std::span<S> gradient) {
  ENSURE(network_ && x.size() == this->dimension() && gradient.size() == this->dimension(),
         "a gradient is as long as the parameters");
  ENSURE(samples() > 0, "a gradient needs samples");
  const Selection selection = share_.batch(batch);
  const double count = static_cast<double>(selection.rows.size());
  Score score;
  for_each_block(selection, [&](const Block<S>& block, bool first) {
    score += network_->add_gradient(x, weighted(block), static_cast<S>(1 / count), first, gradient);
  });
  return score.loss / count + network_->add_penalty(x, l2_, gradient);
}

template <class S>
double NetworkObjective<S>::clipped_gradient(std::span<const S> x,
                                             std::span<const std::uint32_t> batch,
                                             const optim::Clip& clip, std::span<S> gradient) {
  ENSURE(network_ && x.size() == this->dimension() && gradient.size() == this->dimension(),
         "a gradient is as long as the parameters");
  std::ranges::fill(gradient, S{0});
  if (!batch.empty())
    for_each_block(share_.batch(batch), [&](const Block<S>& block, bool first) {
      network_->add_clipped_gradient(x, weighted(block), clip.bound, first, gradient);
    });
  for (S& value : gradient) value /= static_cast<S>(clip.divisor);
  network_->add_penalty(x, l2_, gradient);
  return clip.bound / clip.divisor;
}

template <class S>
NormalEquations NetworkObjective<S>::normal_equations() {
  const std::size_t width = map_.width();
  NormalEquations equations(this->dimension());
  Eigen::VectorXd row = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(this->dimension()));
  for_each_block(share_.batch({}), [&](const Block<S>& block, bool) {
    for (std::size_t r = 0; r < block.rows; ++r) {
      const S* const values = block.inputs + r * width;
      std::copy(values, values + width, row.begin());
      equations.add(row, static_cast<double>(block.truth.targets[r]));
    }
  });
  equations.finish(l2_, width);
  return equations;
}

template <class S>
bool NetworkObjective<S>::minimize(std::span<const S> c, double mu, std::span<S> x) {
  if (model_.kind != ModelKind::linear || this->dimension() > kClosedFormLimit) return false;
  if (!equations_) equations_ = normal_equations();
  const auto size = static_cast<Eigen::Index>(c.size());
  const Eigen::VectorXd linear =
      Eigen::Map<const Eigen::Vector<S, Eigen::Dynamic>>(c.data(), size).template cast<double>();
  Eigen::VectorXd best;
  if (!equations_->minimize(linear, mu, best)) return false;
  std::ranges::transform(best, x.begin(), [](double value) { return static_cast<S>(value); });
  return true;
}

template <class S>
optim::Evaluation NetworkObjective<S>::evaluate(std::span<const S> x, std::size_t limit) {
  ENSURE(network_ && x.size() == this->dimension(), "a model is evaluated once it is founded");
  const Selection selection = share_.evaluation(limit);
  const double count = static_cast<double>(selection.rows.size());
  Score score;
  double squares = 0;
  ClassTally tally(survey_ ? survey_->classes.size() : 0, rare_);
  for_each_block(selection, [&](const Block<S>& block, bool) {
    const std::span<const S> outputs = network_->outputs(x, block);
    if (survey_ && survey_->classifies)
      tally.add(outputs, std::span(block.truth.labels, block.rows));
    if (selection.set->classes == 0) squares += map_.squared_error(outputs, block.truth.targets);
    score += network_->score_outputs(block);
  });
  optim::Evaluation evaluation{.samples = selection.rows.size(), .available = selection.available};
  evaluation.loss = score.loss / count;
  if (selection.set->classes > 0)
    // Rows of a class that the model does not know count as wrong.
    evaluation.accuracy = static_cast<double>(score.correct) / count * selection.usable;
  else
    evaluation.rmse = std::sqrt(squares / count);
  tally.write(evaluation);
  return evaluation;
}

template class NetworkObjective<float>;
template class NetworkObjective<double>;

}  // namespace starling::models
