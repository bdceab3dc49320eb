// Settings of the memory allocator.
#pragma once

#include <malloc.h>

namespace starling::daemon {

// Chunks of parameters come and go every round: malloc must keep them, because fresh pages cost
// more than the copy.
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

// The threads of a node hand blocks to each other, which would otherwise pile up in the arena of
// each. Threads that each simulate a world of their own are better off without.
inline void use_one_arena() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace starling::daemon
