#include "gossip/wire/record_cache.h"

#include <algorithm>

#include "base/content_hash.h"

namespace starling::gossip {

std::optional<Record> RecordCache::get(std::span<const std::byte> encoding) {
  Record& slot = slots_[content_hash(encoding) & (slots_.size() - 1)];
  if (std::ranges::equal(std::as_bytes(std::span(slot.encoding())), encoding)) return slot;
  std::optional<Record> record = Record::decode(encoding);
  if (record) slot = *record;
  return record;
}

}  // namespace starling::gossip
