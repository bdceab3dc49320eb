// The edge list of topology.kind file, read from the disk: layers below the daemon read no files.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "topology/options.h"

namespace starling::daemon {

inline constexpr std::size_t kEdgeListBytesLimit = 64 * 1024 * 1024;

// Fills `options.edges` and `options.arcs` from `options.file`; does nothing for any other kind.
Result<void> load_edges(topology::Options& options);

}  // namespace starling::daemon
