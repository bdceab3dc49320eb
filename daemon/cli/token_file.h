// The file that --token-file names.
#pragma once

#include <string>

#include "base/result.h"

namespace starling::daemon {

// Its first line: a bearer token for the REST interface of a node.
Result<std::string> read_token_file(const std::string& path);

}  // namespace starling::daemon
