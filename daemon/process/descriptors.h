// Descriptors: how many files and sockets this process has open, how many it may have, and what
// each part of it may take of them. When all are taken, no peer can connect and no checkpoint can
// be written.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace starling::daemon {

struct Descriptors {
  std::size_t used = 0, allowed = 0;
};
Descriptors count_descriptors();
// The limit of this process.
std::size_t descriptors_allowed();

// Raises the limit as far as the system lets a process do itself.
void raise_descriptor_limit();
// For a child between fork and exec: the limit that this process was started with, since programs
// that use select() fail beyond 1,024. Async-signal-safe.
void restore_descriptor_limit();

// What connections may take. Together 7/8 of `allowed`: the rest is for files, threads, a trainer.
struct DescriptorShares {
  // Of the sockets that send. Larger: fewer connections open anew in a large cluster.
  std::size_t sending = 4096;
  // Connections that others made.
  std::size_t receiving = 8192;
  std::size_t http = 256;
};
// With fewer, two nodes do not find each other.
inline constexpr std::size_t kDescriptorsLeast = 64;
// The error says what is allowed where that is less.
Result<DescriptorShares> share_out(std::size_t allowed);

}  // namespace starling::daemon
