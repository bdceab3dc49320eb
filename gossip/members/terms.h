// Terms: the agreed keys of a node and their values, as they are sent, hashed and compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gossip/options.h"

namespace starling::gossip {

// All agreed keys: those of gossip and topology, and `options.terms`. A value that is long or has
// control characters is shortened, and a hash of the full value is appended.
std::vector<Term> agreed(const Options& options);

// The hash that a member's record holds.
std::uint64_t agreement_of(const std::vector<Term>& terms);

// In words, such as "it has topology.kind=torus and optim.admm-penalty=0.5; this node ring and
// 0.1". REQUIRES that the terms differ.
std::string difference(const std::vector<Term>& theirs, const std::vector<Term>& own);

}  // namespace starling::gossip
