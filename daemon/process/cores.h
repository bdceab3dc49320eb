// Cores: how many processors this process may use, and how often it was kept from using them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace starling::daemon {

struct Cores {
  // By the affinity of the process and the quotas of its control groups; above 0, and not whole
  // where a quota is not.
  double usable = 1;
  // Periods in which a quota was used up before their end.
  std::uint64_t throttled = 0;
  // Times that a processor was slowed down because it was hot.
  std::uint64_t overheated = 0;
};
// `root`: a folder that holds /proc and /sys; empty: the system's own.
Cores count_cores(const std::string& root = "");
// As many as can run at once; at least 1.
unsigned useful_threads(double cores);

// Sets OMP_NUM_THREADS for the children of this process, of which `processes` run at once: OpenMP,
// OpenBLAS and MKL start one thread for each core of the machine otherwise. Returns what it set:
// nothing where the variable is set already, or a process may start as many threads anyway.
std::optional<unsigned> share_cores(std::size_t processes);

}  // namespace starling::daemon
