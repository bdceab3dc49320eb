// The files that --token-file and http.token-file name.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace starling::daemon {

// Its first line: a bearer token for the REST interface of a node, without blanks and line ends.
// Empty: none.
std::string token_in(const std::string& path);
// The same for --token-file; no token is an error.
Result<std::string> read_token_file(const std::string& path);
// The same for http.token-file, which others must not read; an empty path is no token.
Result<std::optional<std::string>> read_http_token(const std::string& path);

}  // namespace starling::daemon
