// Reading the documents of a node, in which a field may be missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace starling::daemon {

// An empty object if there is no such field.
const nlohmann::json& part(const nlohmann::json& document, const char* name);
// Nothing if there is no such field, or null. Throws json::type_error if it is not a number.
std::optional<double> number(const nlohmann::json& document, const char* name);

}  // namespace starling::daemon
