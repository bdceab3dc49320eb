#include "daemon/cli/token_file.h"

#include <fstream>

namespace starling::daemon {

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream stream(path);
  std::string token;
  if (!std::getline(stream, token) || token.empty())
    return fail("--token-file {}: expected a file with a token in its first line", path);
  return token;
}

}  // namespace starling::daemon
