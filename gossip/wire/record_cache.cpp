#include "gossip/wire/record_cache.h"

#include <algorithm>
#include <iterator>

#include "base/content_hash.h"

namespace starling::gossip {

std::optional<Record> RecordCache::get(std::span<const std::byte> encoding) {
  const std::size_t place = content_hash(encoding) & (slots_.size() - 1);
  Record& slot = slots_[place];
  if (std::ranges::equal(std::as_bytes(std::span(slot.encoding())), encoding)) return slot;
  std::optional<Record> record = Record::decode(encoding);
  if (!record) return record;
  slot = *record;
  note((*record)->id, static_cast<std::uint32_t>(place));
  return record;
}

// Empties the slot of the member's oldest record. Anybody can invent members: of more than there
// are slots all begin anew.
void RecordCache::note(NodeId member, std::uint32_t slot) {
  if (lately_.size() >= slots_.size() && !lately_.contains(member)) lately_.clear();
  Lately& lately = lately_[member];
  std::uint32_t& oldest = lately.slots[lately.next];
  const bool is_full = lately.count == kKeptOfMember;
  if (is_full && oldest != slot && slots_[oldest]->id == member) slots_[oldest] = Record();
  oldest = slot;
  lately.next = (lately.next + 1) % kKeptOfMember;
  lately.count = std::min<std::uint32_t>(lately.count + 1, kKeptOfMember);
}

void RecordCache::keep(const std::function<bool(NodeId)>& is_kept) {
  for (Record& slot : slots_)
    if (!slot.is(Record()) && !is_kept(slot->id)) slot = Record();
  for (auto item = lately_.begin(); item != lately_.end();)
    item = is_kept(item->first) ? std::next(item) : lately_.erase(item);
}

std::size_t RecordCache::size() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots_, [](const Record& record) { return !record.is(Record()); }));
}

}  // namespace starling::gossip
