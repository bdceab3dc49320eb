#include "gossip/wire/setting_change.h"

#include "gossip/wire/archives.h"

namespace starling::gossip {

std::string encode(const std::vector<SettingChange>& changes) {
  Writer out;
  out.record(SettingChanges{false, changes});
  return out.take();
}

Result<std::vector<SettingChange>> decode_setting_changes(std::span<const std::byte> bytes) {
  SettingChanges read;
  Reader::Source source{.bytes = bytes};
  Reader(source).only(read);
  if (!source.sound) return fail("cannot be read");
  return std::move(read.changes);
}

}  // namespace starling::gossip
