// Reading the documents of a node, in which a field may be missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace starling::daemon {

// An empty object where there is no such field.
const nlohmann::json& part(const nlohmann::json& document, const char* name);
// Nothing where there is no such field, or null. Throws json::type_error for what is no number.
std::optional<double> number(const nlohmann::json& document, const char* name);

}  // namespace starling::daemon
