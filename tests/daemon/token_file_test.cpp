#include "daemon/setup/token_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

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
