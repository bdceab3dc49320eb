// Terms: the agreed keys of a node and its values there, as they are sent, hashed and compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gossip/options.h"

namespace starling::gossip {

// All agreed keys: those of gossip and topology, and `options.terms`. Texts that are long, or hold
// what is not printed, are shortened, with a hash of what they were.
std::vector<Term> agreed(const Options& options);

// The hash that a member's record holds.
std::uint64_t agreement_of(const std::vector<Term>& terms);

// "it has topology.kind=torus and optim.admm-penalty=0.5; this node ring and 0.1". REQUIRES that
// they differ.
std::string difference(const std::vector<Term>& theirs, const std::vector<Term>& own);

}  // namespace starling::gossip
