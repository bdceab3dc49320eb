#include "daemon/process/whole_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace starling;
using namespace starling::daemon;

namespace {

struct Fixture {
  Fixture()
      : folder(std::filesystem::temp_directory_path() /
               ("starling-whole-" + std::to_string(::getpid()))),
        path((folder / "file").string()) {
    std::filesystem::create_directories(folder);
  }
  ~Fixture() { std::filesystem::remove_all(folder); }
  std::string content() const {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::filesystem::path folder;
  std::string path;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "A file is replaced whole or stays as it was") {
  CHECK(replace_file(path, "one"));
  CHECK(replace_file(path, "two"));
  CHECK(content() == "two");
  CHECK_FALSE(replace_file((folder / "none" / "file").string(), "three"));
  CHECK(replace_file("/dev/null", "gone"));
  CHECK_FALSE(std::filesystem::is_regular_file("/dev/null"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
}

TEST_CASE_FIXTURE(Fixture, "A file is read whole or not at all") {
  CHECK_FALSE(read_file(path, 3)->has_value());
  REQUIRE(write_file(path, as_payload("one")));
  CHECK(as_text(**read_file(path, 3)) == "one");
  CHECK_FALSE(read_file(path, 2));
  CHECK_FALSE(read_file(folder, 100));
  CHECK_FALSE(write_file(path, as_payload("two")));
  CHECK(content() == "one");
}

TEST_CASE_FIXTURE(Fixture, "Nobody waits for the other end of a named pipe") {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(read_file(path, 100));
  CHECK_FALSE(replace_file(path, "one"));
}

TEST_CASE("A folder that the file system cannot sync is no error") {
  CHECK(sync_folder("/proc/self"));
  CHECK_FALSE(sync_folder("/proc/self/none"));
}
