// present: the documents of the REST interface as a person reads them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace starling::daemon {

// That the document answers the command at all: it is an object that has what every version has.
Result<void> expect_answer(std::string_view command, const nlohmann::json& document);

// `command` is status, fleet, members, neighbors, topology, convergence or events. The document
// comes from a node that may be of another version: what is missing is left out, what has the wrong
// type is an error.
Result<std::string> present(std::string_view command, const nlohmann::json& document);

}  // namespace starling::daemon
