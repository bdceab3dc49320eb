#include "gossip/members/dissemination.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace starling::gossip {
namespace {

// A rumor is told kTellings * log2(members + 1) times. Larger: a member is less likely to miss a
// rumor. Smaller: less traffic when many nodes join at once.
constexpr std::size_t kTellings = 4;

}  // namespace

std::vector<Rumor> Dissemination::take(std::size_t limit, std::size_t members) {
  std::vector<Item*> order;
  for (auto& [id, item] : items_) order.push_back(&item);
  const auto count = static_cast<std::ptrdiff_t>(std::min(order.size(), limit));
  std::ranges::partial_sort(order, order.begin() + count, {}, [](const Item* item) {
    return std::pair(item->told, item->rumor.member.id);
  });
  order.resize(static_cast<std::size_t>(count));
  std::vector<Rumor> rumors;
  for (Item* item : order) {
    rumors.push_back(item->rumor);
    ++item->told;
  }
  const std::size_t most = kTellings * static_cast<std::size_t>(std::bit_width(members));
  std::erase_if(items_, [&](const auto& entry) { return entry.second.told >= most; });
  return rumors;
}

}  // namespace starling::gossip
