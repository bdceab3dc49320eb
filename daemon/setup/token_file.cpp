#include "daemon/setup/token_file.h"

#include <fstream>

#include "base/text.h"

namespace starling::daemon {

std::string token_in(const std::string& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return std::string(trim(line));
}

Result<std::string> read_token_file(const std::string& path) {
  std::string token = token_in(path);
  if (token.empty())
    return fail("--token-file {}: expected a file with a token in its first line", path);
  return token;
}

}  // namespace starling::daemon
