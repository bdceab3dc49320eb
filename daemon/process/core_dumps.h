// core_dumps: limits what the system writes to the disk when this process crashes.
#pragma once

#include <fstream>

namespace starling::daemon {

// Leaves the memory of this process, and of processes that it starts, out of core dumps: libraries
// keep copies of secret keys. The stack traces of a dump are lost with it. Does nothing where the
// system has no such setting.
inline void leave_memory_out_of_core_dumps() {
  std::ofstream("/proc/self/coredump_filter") << "0x0";
}

}  // namespace starling::daemon
