#include "daemon/process/cores.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/daemon/temporary_folder.h"

using namespace starling;
using namespace starling::daemon;

namespace {

void write(const std::string& root, const std::string& file, const std::string& text) {
  const std::filesystem::path path = root + file;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("The quota of a control group or of one around it bounds the cores") {
  const test::TemporaryFolder folder;
  const std::string root = folder.path();
  const double all = count_cores(root).usable;
  CHECK(all == std::max(1U, std::thread::hardware_concurrency()));
  write(root, "/proc/self/cgroup", "0::/pods/own\n");
  write(root, "/sys/fs/cgroup/pods/own/cpu.max", "max 100000\n");
  CHECK(count_cores(root).usable == all);
  write(root, "/sys/fs/cgroup/pods/cpu.max", "50000 100000\n");
  write(root, "/sys/fs/cgroup/pods/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 4\n");
  CHECK(count_cores(root).usable == 0.5);
  CHECK(count_cores(root).throttled == 4);
  // As a container sees it whose own group is the root.
  write(root, "/proc/self/cgroup", "0::/\n");
  write(root, "/sys/fs/cgroup/cpu.max", "25000 100000\n");
  CHECK(count_cores(root).usable == 0.25);
}

TEST_CASE("The quota of control groups of version 1 counts") {
  const test::TemporaryFolder folder;
  const std::string root = folder.path();
  write(root, "/proc/self/cgroup", "4:memory:/m\n1:cpu,cpuacct:/own\n0::/\n");
  write(root, "/sys/fs/cgroup/cpu/own/cpu.cfs_quota_us", "-1\n");
  write(root, "/sys/fs/cgroup/cpu/own/cpu.cfs_period_us", "100000\n");
  CHECK(count_cores(root).usable >= 1);
  write(root, "/sys/fs/cgroup/cpu/own/cpu.cfs_quota_us", "75000\n");
  write(root, "/sys/fs/cgroup/cpu/own/cpu.stat", "nr_periods 9\nnr_throttled 3\n");
  write(root, "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "12\n");
  CHECK(count_cores(root).usable == 0.75);
  CHECK(count_cores(root).throttled == 3);
  CHECK(count_cores(root).overheated == 12);
  CHECK(useful_threads(0.75) == 1);
  CHECK(useful_threads(2.5) == 2);
}

TEST_CASE("Processes beside each other share the cores unless the user has said how many") {
  ::unsetenv("OMP_NUM_THREADS");
  const auto set = share_cores(100'000);
  if (std::thread::hardware_concurrency() > 1) {
    CHECK(set == 1);
    CHECK(std::string(std::getenv("OMP_NUM_THREADS")) == "1");
  }
  ::setenv("OMP_NUM_THREADS", "7", 1);
  CHECK_FALSE(share_cores(100'000));
  CHECK(std::string(std::getenv("OMP_NUM_THREADS")) == "7");
  ::unsetenv("OMP_NUM_THREADS");
}
