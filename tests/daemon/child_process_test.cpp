#include "daemon/process/child_process.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include "daemon/process/open_file.h"
#include "tests/daemon/temporary_folder.h"

using namespace starling::daemon;
using starling::test::TemporaryFolder;

namespace {

// Prints the numbers of its descriptors without opening one.
const std::string kDescriptors =
    R"(n=0; while [ $n -lt 200 ]; do [ -e /proc/$$/fd/$n ] && printf "%s " $n; n=$((n + 1)); done)";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("A child has the descriptors that are meant for it and no other") {
  const TemporaryFolder folder;
  // As of a library that leaves them open for programs that this process starts.
  OpenFile leaks[20];
  for (OpenFile& leak : leaks) leak = OpenFile(::open("/dev/null", O_RDONLY));
  auto logged = ChildProcess::start({"/bin/sh", "-c", kDescriptors}, folder / "log");
  REQUIRE(logged.has_value());
  CHECK(logged->wait(std::chrono::seconds(60)));
  CHECK(text_of(folder / "log") == "0 1 2 3 ");
  const std::string into = "{ " + kDescriptors + "; } >" + (folder / "list");
  auto bare = ChildProcess::start({"/bin/sh", "-c", into}, "");
  REQUIRE(bare.has_value());
  CHECK(bare->wait(std::chrono::seconds(60)));
  // Where the shell keeps its own output meanwhile, 10, is not of this process.
  const std::string list = text_of(folder / "list");
  CHECK((list == "0 1 2 " || list == "0 1 2 10 "));
}
