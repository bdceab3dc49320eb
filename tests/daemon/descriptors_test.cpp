#include "daemon/process/descriptors.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/process/child_process.h"

using namespace starling;
using namespace starling::daemon;

TEST_CASE("Descriptors that are open are counted") {
  const std::size_t before = count_descriptors().used;
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK(count_descriptors().used == before + 1);
  ::close(file);
  CHECK(count_descriptors().used == before);
  CHECK(count_descriptors().allowed == descriptors_allowed());
}

TEST_CASE("A process raises its limit of descriptors and its children start with the old one") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit low = before;
  low.rlim_cur = 200;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  raise_descriptor_limit();
  CHECK(descriptors_allowed() == before.rlim_max);
  const auto log = std::filesystem::temp_directory_path() /
                   ("starling-descriptors-" + std::to_string(::getpid()));
  auto child = ChildProcess::start({"/bin/sh", "-c", "ulimit -n"}, log);
  REQUIRE(child.has_value());
  CHECK(child->wait(std::chrono::seconds(60)));
  std::string limit;
  std::ifstream(log) >> limit;
  CHECK(limit == "200");
  std::filesystem::remove(log);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("Connections leave descriptors to files and threads") {
  for (const std::size_t allowed : {64, 256, 1'024, 20'000, 1'048'576}) {
    CAPTURE(allowed);
    const DescriptorShares shares = *share_out(allowed);
    CHECK(shares.sending + shares.receiving + shares.http <= allowed - allowed / 8);
    CHECK(shares.sending >= 32);
    CHECK(shares.http >= 8);
  }
  CHECK(share_out(63).error().text.find("63 open files are allowed; expected at least 64") == 0);
}
