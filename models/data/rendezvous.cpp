#include "models/data/rendezvous.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/prng.h"

namespace starling::models {
namespace {

// At least so many blocks, and so many for each member. More are more even but cost time. The
// number is a power of two, so that a join seldom changes the blocks.
constexpr std::size_t kBlocks = 1024, kBlocksPerMember = 8;

using Hash = std::uint64_t;

struct Wish {
  Hash hash = 0;  // of a block and a member
  std::size_t block = 0;

  auto operator<=>(const Wish&) const = default;
};
// The least first.
using Wishes = std::priority_queue<Wish, std::vector<Wish>, std::greater<>>;

// Blocks that each member takes, `blocks` in all.
std::vector<std::size_t> quotas(const std::vector<Hash>& members, std::size_t blocks) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return members[k]; });
  std::vector<std::size_t> counts(members.size(), blocks / members.size());
  for (std::size_t k = 0; k < blocks % members.size(); ++k) ++counts[order[k]];
  return counts;
}

// The member of the highest hash below that, of those of a block. mix64 is one to one, so that no
// two are equal. REQUIRES that there is one.
std::pair<std::size_t, Hash> next_choice(const std::vector<Hash>& members, Hash block, Hash below) {
  std::pair<std::size_t, Hash> best{members.size(), 0};
  for (std::size_t k = 0; k < members.size(); ++k) {
    const Hash hash = mix64(block ^ members[k]);
    if (hash < below && hash >= best.second) best = {k, hash};
  }
  ENSURE(best.first < members.size(), "as many blocks as the members take find one each");
  return best;
}

// The blocks of each member.
std::vector<std::vector<std::size_t>> admit(const std::vector<Hash>& members,
                                            const std::vector<Hash>& blocks) {
  const std::vector<std::size_t> counts = quotas(members, blocks.size());
  std::vector<Wishes> held(members.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::size_t block = b;
    Hash below = ~Hash{0};
    while (true) {
      const auto [member, hash] = next_choice(members, blocks[block], below);
      held[member].push({hash, block});
      if (held[member].size() <= counts[member]) break;
      std::tie(below, block) = std::pair(held[member].top().hash, held[member].top().block);
      held[member].pop();
    }
  }
  std::vector<std::vector<std::size_t>> taken(members.size());
  for (std::size_t k = 0; k < members.size(); ++k)
    for (; !held[k].empty(); held[k].pop()) taken[k].push_back(held[k].top().block);
  return taken;
}

}  // namespace

Rows shuffled_rows(std::size_t count, std::uint64_t seed) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  Prng prng = Prng::derive(seed, 3);
  prng.shuffle(std::span(rows));
  return rows;
}

std::vector<Rows> rendezvous(std::size_t rows, const std::vector<NodeId>& members,
                             std::uint64_t seed) {
  ENSURE(!members.empty(), "data is dealt to somebody");
  const Rows order = shuffled_rows(rows, seed);
  const std::size_t count =
      std::min(std::max(kBlocks, std::bit_ceil(kBlocksPerMember * members.size())), rows);
  std::vector<Hash> hashes, blocks;
  for (const NodeId member : members) hashes.push_back(mix64(member.value));
  for (std::size_t block = 0; block < count; ++block) blocks.push_back(mix64(mix64(seed) ^ block));
  std::vector<Rows> result;
  for (const std::vector<std::size_t>& taken : admit(hashes, blocks)) {
    Rows& part = result.emplace_back();
    for (const std::size_t block : taken)
      for (std::size_t i = rows * block / count; i < rows * (block + 1) / count; ++i)
        part.push_back(order[i]);
    std::ranges::sort(part);
  }
  return result;
}

}  // namespace starling::models
