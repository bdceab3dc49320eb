#include "daemon/process/checkpoint_disk.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <fstream>
#include <iterator>
#include <string>

#include "daemon/process/log.h"
#include "tests/daemon/checkpoint_example.h"
#include "tests/daemon/temporary_folder.h"

using namespace starling;
using namespace starling::daemon;

namespace {

// What is logged goes to a file meanwhile.
class LogFile {
 public:
  LogFile() : before_(::dup(STDERR_FILENO)) {
    log::set_up(log::Level::warning, "test");
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  std::string text() const {
    std::ifstream stream(path_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  test::TemporaryFolder folder_;
  std::string path_ = folder_.write("log", "");
  int before_;
};

}  // namespace

TEST_CASE("Too little room is said once and before the first checkpoint") {
  const test::TemporaryFolder folder;
  std::string text;
  {
    const LogFile log;
    auto disk = CheckpointDisk::open(folder.path(), 3);
    REQUIRE(disk.has_value());
    (*disk)->expect(std::uint64_t{1} << 60);
    (*disk)->expect(std::uint64_t{1} << 61);
    (*disk)->save(example_checkpoint());
    pollfd item{(*disk)->descriptor(), POLLIN, 0};
    REQUIRE(::poll(&item, 1, 60'000) == 1);
    REQUIRE((*disk)->take_saved().value().generation == 1);
    text = log.text();
  }
  const std::string doubt = "checkpoint.keep = 3 generations of 1152921504606.8 MB";
  CHECK(text.find(doubt) != std::string::npos);
  CHECK(text.find(doubt) == text.rfind("checkpoint.keep"));
}
