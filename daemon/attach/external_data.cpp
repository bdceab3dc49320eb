#include "daemon/attach/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "daemon/attach/tensor_table.h"

namespace starling::daemon {
namespace {

// The last line of a survey: the hash of a founder's initial parameters, or of the common ones if
// it has started.
constexpr std::string_view kInitial = "initial parameters ";
constexpr std::string_view kCommon = "common parameters ";

// If nodes weigh by their samples, the line before it: their number; in a foundation, the mean.
constexpr std::string_view kSamples = "samples ";

// More than a node can hold; for checking numbers from others.
constexpr double kFoundersSamplesLimit = 9e15;

struct SurveyParts {
  std::string_view schema;
  std::string_view samples;  // empty: none
  std::string_view initial;  // hash; empty: none
  bool is_common = false;
};

// Cuts the last line off the text if it has that label, and returns the rest of that line. Returns
// an empty text where the last line has another label.
std::string_view cut_line(std::string_view& text, std::string_view label) {
  const std::size_t place = text.rfind(label);
  if (place == std::string_view::npos || (place > 0 && text[place - 1] != '\n')) return {};
  std::string_view line = text.substr(place + label.size());
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.find('\n') != std::string_view::npos) return {};
  text = text.substr(0, place);
  return line;
}

SurveyParts parts(std::string_view survey) {
  SurveyParts found;
  found.initial = cut_line(survey, kInitial);
  if (found.initial.empty()) found.initial = cut_line(survey, kCommon), found.is_common = true;
  found.samples = cut_line(survey, kSamples);
  found.schema = survey;
  return found;
}

}  // namespace

ExternalData::ExternalData(std::string schema, std::uint64_t initial, std::size_t samples,
                           bool weighs)
    : schema_(std::move(schema)),
      initial_(fmt::format("{:016x}", initial)),
      samples_(samples),
      weighs_(weighs) {}

std::string ExternalData::head(double samples) const {
  return weighs_ ? fmt::format("{}{}{}\n", schema_, kSamples, samples) : schema_;
}

std::string ExternalData::survey() const {
  return fmt::format("{}{}{}\n", head(static_cast<double>(samples_)), kInitial, initial_);
}

std::string ExternalData::foundation() const {
  return head(mean_samples_);
}

Result<void> ExternalData::found(std::span<const std::string> surveys) {
  SurveyParts first;
  double sum = 0;
  for (const std::string& survey : surveys) {
    const SurveyParts found = parts(survey);
    if (found.schema != schema_)
      return fail("another node's trainer has another model: {}",
                  first_difference(schema_, found.schema));
    const bool is_better = first.initial.empty() || (found.is_common && !first.is_common);
    if (!found.initial.empty() && is_better) first = found;
    const auto samples = parse_number(found.samples);
    if (weighs_ && (!samples || !(*samples > 0 && *samples <= kFoundersSamplesLimit)))
      return fail("another node does not say how many samples it holds, which data.weight needs");
    sum += samples.value_or(0);
  }
  mean_samples_ = sum / static_cast<double>(std::max<std::size_t>(surveys.size(), 1));
  common_ = first.initial.empty() ? initial_ : std::string(first.initial);
  return {};
}

double ExternalData::weight() const {
  if (!weighs_ || mean_samples_ == 0) return 1;
  return static_cast<double>(samples_) / mean_samples_;
}

optim::DataSummary ExternalData::describe() const {
  optim::DataSummary summary{.samples = samples_,
                             .shard = fmt::format("the trainer's own, node {} of {}",
                                                  shard_.place + 1, shard_.members.size()),
                             .schema = "external " + schema_,
                             .needs_model = !common_.empty() && common_ != initial_};
  if (weighs_) summary.schema += ", weighted by samples";
  if (mean_samples_ > 0 && weighs_) summary.shard += fmt::format(", of weight {:.3g}", weight());
  if (!common_.empty() && !summary.needs_model)
    summary.late_survey =
        fmt::format("{}{}{}\n", head(static_cast<double>(samples_)), kCommon, common_);
  return summary;
}

}  // namespace starling::daemon
