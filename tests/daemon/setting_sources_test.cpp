#include "daemon/setup/setting_sources.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace starling;
using namespace starling::daemon;

namespace {

Schema schema_of_tests() {
  Schema schema;
  schema.add({"optim.learning-rate", "0.1", "how far"});
  return schema;
}

std::vector<std::string> mistakes_of(const std::string& path) {
  const Schema schema = schema_of_tests();
  std::vector<std::string> mistakes;
  gather_settings(schema, path, {}, mistakes);
  return mistakes;
}

}  // namespace

TEST_CASE("Settings come from the file and over it from the environment of the process") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("starling-sources-" + std::to_string(::getpid()));
  std::ofstream(path) << "[optim]\nlearning-rate = 0.2\n";
  const Schema schema = schema_of_tests();
  CHECK(load_settings(schema, path.string(), {})->at("optim.learning-rate").value == "0.2");
  CHECK(load_settings(schema, path.string(), {})->at("optim.learning-rate").origin == path);
  ::setenv("STARLING_OPTIM_LEARNING_RATE", "0.3", 1);
  CHECK(load_settings(schema, path.string(), {})->text("optim.learning-rate") == "0.3");
  ::unsetenv("STARLING_OPTIM_LEARNING_RATE");
  std::filesystem::remove(path);
}

TEST_CASE("A settings file that is not there or is a folder is a mistake") {
  const std::string folder = std::filesystem::temp_directory_path().string();
  CHECK(mistakes_of("no/such/file.ini") ==
        std::vector<std::string>{"no/such/file.ini: cannot be opened; expected an INI file"});
  CHECK(mistakes_of(folder) ==
        std::vector<std::string>{folder + ": cannot be read; expected an INI file"});
}
