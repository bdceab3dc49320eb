#include "daemon/process/cores.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.h"

namespace starling::daemon {
namespace {

using std::filesystem::path;

constexpr char kThreads[] = "OMP_NUM_THREADS";
constexpr char kHeat[] = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";

// The control groups of this process that can limit its processor time: its own and those around
// it. A line of the list is ID:CONTROLLERS:PATH, without controllers for version 2.
std::vector<path> groups_of_process(const std::string& root) {
  std::vector<path> groups;
  std::ifstream stream(root + "/proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const auto names = split(controllers, ',');
    const bool is_version_2 = names.empty();
    if (!is_version_2 && std::ranges::find(names, "cpu") == names.end()) continue;
    const std::string base = root + "/sys/fs/cgroup" + (is_version_2 ? "" : "/cpu");
    path group = line.substr(second + 1);
    for (; group.has_relative_path(); group = group.parent_path())
      groups.emplace_back(base + group.string());
    groups.emplace_back(base);
  }
  return groups;
}

// The quota of a group in processors; nothing if it has none: "max" or -1.
std::optional<double> quota_of(const path& group) {
  std::string quota, period;
  if (!(std::ifstream(group / "cpu.max") >> quota >> period)) {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  const auto time = parse_number(quota), of = parse_number(period);
  if (!time || !of || *time <= 0 || *of <= 0) return std::nullopt;
  return *time / *of;
}

std::uint64_t throttled_periods(const path& group) {
  std::ifstream stream(group / "cpu.stat");
  std::string key;
  for (std::uint64_t value = 0; stream >> key >> value;)
    if (key == "nr_throttled") return value;
  return 0;
}

}  // namespace

Cores count_cores(const std::string& root) {
  // hardware_concurrency() counts the processors of the affinity.
  Cores cores{.usable = static_cast<double>(std::max(1U, std::thread::hardware_concurrency()))};
  for (const path& group : groups_of_process(root)) {
    cores.usable = std::min(cores.usable, quota_of(group).value_or(cores.usable));
    cores.throttled += throttled_periods(group);
  }
  std::ifstream(root + kHeat) >> cores.overheated;
  return cores;
}

unsigned useful_threads(double cores) {
  return std::max(1U, static_cast<unsigned>(cores));
}

std::optional<unsigned> share_cores(std::size_t processes) {
  const unsigned threads = useful_threads(count_cores().usable / static_cast<double>(processes));
  if (std::getenv(kThreads) || threads >= std::thread::hardware_concurrency()) return std::nullopt;
  ::setenv(kThreads, std::to_string(threads).c_str(), 1);
  return threads;
}

}  // namespace starling::daemon
