// Legality: which choices go together. Each that does not is a mistake with its reason and the
// nearest choice that does (docs/algorithms.md).
#pragma once

#include "base/settings.h"
#include "gossip/options.h"
#include "optim/options.h"

namespace starling::daemon {

void check_legality(const gossip::Options& node, const optim::Options& training, Reader& reader);

}  // namespace starling::daemon
