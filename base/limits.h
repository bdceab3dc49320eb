// Limits of more than one layer.
#pragma once

#include <cstddef>

namespace starling {

// Of one cluster, dead members included. Every node keeps a record of each, and a message holds all
// of them: more would not fit a header.
inline constexpr std::size_t kMembersLimit = 4096;

}  // namespace starling
