// present: the documents of the REST interface as text for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace starling::daemon {

// Checks that the document answers the command: an object with the fields that every version has.
Result<void> expect_answer(std::string_view command, const nlohmann::json& document);

// `command` is status, fleet, members, neighbors, topology, convergence or events. The document
// comes from a node that may be of another version: missing values are left out; a wrong type is an
// error.
Result<std::string> present(std::string_view command, const nlohmann::json& document);

}  // namespace starling::daemon
