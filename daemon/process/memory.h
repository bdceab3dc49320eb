// memory: settings of the memory allocator.
#pragma once

#include <malloc.h>

namespace starling::daemon {

// Chunks of parameters are allocated and freed every round: malloc must keep them, because fresh
// pages cost more than the copy.
inline void keep_large_blocks() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
}

// Returns free memory to the system after an unusual peak.
inline void give_back() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

// Makes all threads allocate from one arena. Threads of a node free each other's blocks, which
// would pile up in an arena of each. Not for threads that simulate separate worlds: it slows them.
inline void use_one_arena() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace starling::daemon
