// Descriptors: how many files and sockets this process has open, how many it may open, and the
// share of each kind of connection. When all are used, no peer can connect and no checkpoint can be
// written.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace starling::daemon {

struct Descriptors {
  std::size_t used = 0, allowed = 0;
};
Descriptors count_descriptors();
// The soft limit of this process.
std::size_t descriptors_allowed();

// Raises the soft limit of the process to its hard limit.
void raise_descriptor_limit();
// For a child between fork and exec: the limit that this process was started with, since programs
// that use select() fail beyond 1,024. Async-signal-safe.
void restore_descriptor_limit();

// The most connections of each kind: 7/8 of `allowed` in all; the rest is for files and a trainer.
struct DescriptorShares {
  // Dialled by this node. Larger: fewer connections are reopened in a large cluster.
  std::size_t sending = 4096;
  // Dialled by other nodes.
  std::size_t receiving = 8192;
  std::size_t http = 256;
};
// With fewer descriptors, two nodes do not find each other.
inline constexpr std::size_t kDescriptorsLeast = 64;
// An error if `allowed` is less than kDescriptorsLeast.
Result<DescriptorShares> share_out(std::size_t allowed);

}  // namespace starling::daemon
