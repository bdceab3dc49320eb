// The files that --token-file and http.token-file name.
#pragma once

#include <string>

#include "base/result.h"

namespace starling::daemon {

// Its first line: a bearer token for the REST interface of a node. Blanks and line ends of any
// system are not part of it. Empty: there is none.
std::string token_in(const std::string& path);
// The same of --token-file; none is an error that names it.
Result<std::string> read_token_file(const std::string& path);

}  // namespace starling::daemon
