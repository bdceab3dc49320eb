// Cores: how many processors this process may use, and how often it was kept from using them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace starling::daemon {

struct Cores {
  // By the affinity of the process and the quotas of its control groups; above 0, and a fraction
  // where a quota is one.
  double usable = 1;
  // Periods of a quota in which it was used up early.
  std::uint64_t throttled = 0;
  // Times that a processor was slowed down because it was hot.
  std::uint64_t overheated = 0;
};
// `root`: a folder that holds /proc and /sys; empty: the system's own.
Cores count_cores(const std::string& root = "");
// The number of threads that can run at once; at least 1.
unsigned useful_threads(double cores);

// Sets OMP_NUM_THREADS for the children of this process, of which `processes` run at once: OpenMP,
// OpenBLAS and MKL start one thread for each core of the machine otherwise. Returns the value;
// nothing if the variable is set already, or each child may use all cores.
std::optional<unsigned> share_cores(std::size_t processes);

}  // namespace starling::daemon
