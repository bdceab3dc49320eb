#include "daemon/rest/document.h"

#include <nlohmann/json.hpp>

namespace starling::daemon {

using nlohmann::json;

const json& part(const json& document, const char* name) {
  static const json kNothing = json::object();
  const auto found = document.find(name);
  return found == document.end() ? kNothing : *found;
}

std::optional<double> number(const json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

}  // namespace starling::daemon
