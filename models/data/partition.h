// partition: which node holds which rows. A function of data, options and members alone, so every
// node knows every node's part without asking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/data_options.h"
#include "models/data/dataset.h"
#include "models/data/rendezvous.h"
#include "optim/workload.h"

namespace starling::models {

// Cuts the training set into `parts`; every row is in exactly one of them. Sizes differ by at most
// one, except for dirichlet, and for by-label with as many parts as classes: then part i is class
// i. With at least as many rows as parts, no part of a dirichlet is empty.
std::vector<Rows> deal(const Dataset& train, const Partition& partition, std::size_t parts,
                       std::uint64_t seed);

// Which node holds which rows, as far as one node can know.
struct Assignment {
  std::vector<Rows> parts;  // of all nodes, as many times as the network holds them
  std::size_t own = 0;      // index in parts
  std::string description;  // "7,500 of 60,000 samples (iid, part 3/8)"
};

// REQUIRES shard.place < shard.members.size().
Assignment assign_rows(const Dataset& train, const DataOptions& options, const optim::Shard& shard);

}  // namespace starling::models
