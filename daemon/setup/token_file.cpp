#include "daemon/setup/token_file.h"

#include <sys/stat.h>

#include <fstream>

#include "base/text.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kTokenBytesLeast = 8;

}  // namespace

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

Result<std::optional<std::string>> read_http_token(const std::string& path) {
  if (path.empty()) return std::nullopt;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return fail("http.token-file = \"{}\": cannot be read", path);
  if ((info.st_mode & 077) != 0)
    return fail("http.token-file = \"{}\": has mode {:o}; others must not read it: chmod 600", path,
                info.st_mode & 0777);
  std::string token = token_in(path);
  if (token.empty()) return fail("http.token-file = \"{}\": holds no token", path);
  if (token.size() < kTokenBytesLeast)
    return fail(
        "http.token-file = \"{}\": its token has {} characters; expected at least {}, so that "
        "nobody "
        "guesses it: (umask 077; head -c 24 /dev/urandom | base64 > {}) makes one",
        path, token.size(), kTokenBytesLeast, path);
  return token;
}

}  // namespace starling::daemon
