#include "gossip/news.h"

#include <algorithm>
#include <bit>

namespace starling::gossip {
namespace {

constexpr std::size_t kTellings = 4;  // times log2(members + 1)

}  // namespace

std::vector<Rumor> News::take(std::size_t limit, std::size_t members) {
  std::vector<Item*> order;
  for (auto& [id, item] : items_) order.push_back(&item);
  std::ranges::stable_sort(order, {}, &Item::told);
  if (order.size() > limit) order.resize(limit);
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
