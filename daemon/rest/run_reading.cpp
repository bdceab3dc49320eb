#include "daemon/rest/run_reading.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "daemon/rest/document.h"

namespace starling::daemon {

using nlohmann::json;
using optim::Evaluation;

std::optional<Evaluation> read_evaluation(const json& document) {
  if (document.empty()) return std::nullopt;
  Evaluation evaluation{
      .loss = number(document, "loss").value_or(0),
      .accuracy = number(document, "accuracy"),
      .rmse = number(document, "rmse"),
      .samples = static_cast<std::size_t>(number(document, "samples").value_or(0)),
      .area = number(document, "auc"),
      .pairs = number(document, "auc_pairs").value_or(0)};
  const json& rare = part(document, "rare");
  if (rare.contains("class"))
    evaluation.rare = {rare.value("class", ""), rare.value("rows", std::size_t{0}),
                       rare.value("found", std::size_t{0})};
  return evaluation;
}

std::string l2_line(const json& run) {
  const json& l2 = part(run, "l2");
  if (!l2.contains("reason")) return {};
  return fmt::format("model.l2 = {:.2g}: {}", number(l2, "value").value_or(0),
                     printable(l2.value("reason", "")));
}

}  // namespace starling::daemon
