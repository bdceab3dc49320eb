// Rendezvous: shares rows out among members evenly, so that few rows move when members come or go.
// Shuffled rows form blocks, and each member takes as many blocks as the others, one more or less.
// By rendezvous hashing (Thaler, Ravishankar: Using name-based mappings to increase hit rates,
// 1998) a block prefers the members by the hashes of block and member. Sizes of such shares vary as
// chance has it, by a fifth of the mean with 16 members. So a member that has its number of blocks
// keeps those with the highest hashes, and the others go to the member that they prefer next: the
// stable assignment of Gale and Shapley (College admissions and the stability of marriage, 1962),
// which does not depend on the order of the blocks or members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace starling::models {

using Rows = std::vector<std::uint32_t>;  // indices of the training set, ascending

// 0 to count - 1, in an order by chance.
Rows shuffled_rows(std::size_t count, std::uint64_t seed);

// The rows of each member, in the order of `members`, which must not be empty. Where there are at
// least 1,024 rows and 128 members or fewer, a block has a 1,024th of the rows. A member that joins
// n others takes 1 / (n + 1) of the rows; among the others move a sixth as many with n = 8, half as
// many with 16, and twice as many with 64.
std::vector<Rows> rendezvous(std::size_t rows, const std::vector<NodeId>& members,
                             std::uint64_t seed);

}  // namespace starling::models
