#include "daemon/attach/external_data.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "daemon/attach/tensor_table.h"

namespace starling::daemon {
namespace {

constexpr std::string_view kInitial = "initial parameters ";

// Of a schema or a survey: the schema, and the line behind it.
std::pair<std::string_view, std::string_view> parts(std::string_view survey) {
  const std::size_t place = survey.rfind(kInitial);
  if (place == std::string_view::npos || (place > 0 && survey[place - 1] != '\n'))
    return {survey, {}};
  return {survey.substr(0, place), survey.substr(place)};
}

}  // namespace

std::string ExternalData::survey() const {
  return fmt::format("{}{}{:016x}\n", schema_, kInitial, initial_);
}

Result<void> ExternalData::found(std::span<const std::string> surveys) {
  const std::string own = survey();
  for (const std::string& survey : surveys) {
    const auto [schema, initial] = parts(survey);
    if (schema != schema_)
      return fail("another node's trainer has another model: {}",
                  first_difference(schema_, schema));
    if (!initial.empty() && initial != parts(own).second)
      return fail(
          "the trainers begin with different parameters; draw them from the same seed "
          "(torch.manual_seed) or load the same file on every node");
  }
  return {};
}

optim::DataSummary ExternalData::describe() const {
  return {.samples = samples_,
          .shard = fmt::format("the trainer's own, node {} of {}", shard_.place + 1,
                               shard_.members.size()),
          .schema = "external " + schema_};
}

}  // namespace starling::daemon
