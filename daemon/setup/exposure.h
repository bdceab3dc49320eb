// Exposure: who can reach a node that has no keys, and whether the user wants that; and
// what else asks for keys.
#pragma once

#include <optional>
#include <string>

#include "base/endpoint.h"
#include "base/result.h"
#include "daemon/setup/config.h"

namespace starling::daemon {

// Without keys everybody who reaches a port is heard. So such a node listens on loopback only,
// unless security.insecure is true; with keys that is an error. `listens`: listen.control, looked
// up.
Result<void> check_exposure(const Config& config, const Endpoint& listens);

// With exchange.masks: the masks of this node, for its trainer. Without keys that is an error.
Result<void> make_masks(Config& config);

// For a configuration whose node has no keys yet: that it needs some before it can listen there.
std::optional<std::string> lack_of_keys(const Config& config);

}  // namespace starling::daemon
