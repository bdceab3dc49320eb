#include "daemon/setup/token_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/daemon/temporary_folder.h"

using namespace starling;
using namespace starling::daemon;

TEST_CASE("A token is the same whatever the system that wrote its file ends lines with") {
  const auto path =
      std::filesystem::temp_directory_path() / ("starling-token-" + std::to_string(::getpid()));
  for (const char* text : {"secret", "secret\n", "secret\r\n", "secret \t\r\nof a person\r\n"}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    CHECK(token_in(path) == "secret");
    CHECK(read_token_file(path) == "secret");
  }
  for (const char* text : {"", "\r\n", "\nsecret"}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    CHECK(token_in(path).empty());
    CHECK_FALSE(read_token_file(path));
  }
  std::filesystem::remove(path);
  CHECK_FALSE(read_token_file(path));
}

TEST_CASE("The token of a node has eight characters at least") {
  const starling::test::TemporaryFolder folder;
  CHECK(read_http_token(folder.write("token", "12345678\n")) == "12345678");
  const auto refused = read_http_token(folder.write("token", "ab\n"));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().text.find("has 2 characters; expected at least 8") != std::string::npos);
  CHECK(refused.error().text.find("/dev/urandom") != std::string::npos);
}
