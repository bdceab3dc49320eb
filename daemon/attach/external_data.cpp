#include "daemon/attach/external_data.h"

#include <fmt/format.h>

#include <utility>

#include "base/ids.h"
#include "daemon/attach/tensor_table.h"

namespace starling::daemon {
namespace {

// The last line of a survey: the hash of a founder's initial parameters, or of those with which it
// has begun together with others.
constexpr std::string_view kInitial = "initial parameters ";
constexpr std::string_view kCommon = "common parameters ";

struct SurveyParts {
  std::string_view schema;
  std::string_view initial;  // hash; empty: none is told
  bool is_common = false;
};

SurveyParts parts(std::string_view survey) {
  for (const std::string_view label : {kInitial, kCommon}) {
    const std::size_t place = survey.rfind(label);
    if (place == std::string_view::npos || (place > 0 && survey[place - 1] != '\n')) continue;
    std::string_view hash = survey.substr(place + label.size());
    if (hash.ends_with('\n')) hash.remove_suffix(1);
    return {survey.substr(0, place), hash, label == kCommon};
  }
  return {.schema = survey, .initial = {}};
}

}  // namespace

ExternalData::ExternalData(std::string schema, std::uint64_t initial, std::size_t samples)
    : schema_(std::move(schema)), initial_(fmt::format("{:016x}", initial)), samples_(samples) {}

std::string ExternalData::survey() const {
  return fmt::format("{}{}{}\n", schema_, kInitial, initial_);
}

Result<void> ExternalData::found(std::span<const std::string> surveys) {
  SurveyParts first;
  for (const std::string& survey : surveys) {
    const SurveyParts found = parts(survey);
    if (found.schema != schema_)
      return fail("another node's trainer has another model: {}",
                  first_difference(schema_, found.schema));
    const bool is_better = first.initial.empty() || (found.is_common && !first.is_common);
    if (!found.initial.empty() && is_better) first = found;
  }
  common_ = first.initial.empty() ? initial_ : std::string(first.initial);
  return {};
}

optim::DataSummary ExternalData::describe() const {
  optim::DataSummary summary{.samples = samples_,
                             .shard = fmt::format("the trainer's own, node {} of {}",
                                                  shard_.place + 1, shard_.members.size()),
                             .schema = "external " + schema_,
                             .needs_model = !common_.empty() && common_ != initial_};
  if (!common_.empty() && !summary.needs_model)
    summary.late_survey = fmt::format("{}{}{}\n", schema_, kCommon, common_);
  return summary;
}

}  // namespace starling::daemon
