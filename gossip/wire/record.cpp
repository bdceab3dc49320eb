#include "gossip/wire/record.h"

#include <utility>

#include "gossip/wire/archives.h"

namespace starling::gossip {
namespace {

std::string encode(const Member& member) {
  Writer out;
  out.record(member);
  return out.take();
}

bool is_sound(const Member& member) {
  Checker checker;
  checker.record(member);
  return checker.sound();
}

}  // namespace

Record::Record(Member member) {
  std::string encoding = encode(member);
  const bool is_within_limits = is_sound(member);
  sealed_ =
      std::make_shared<const Sealed>(std::move(member), std::move(encoding), is_within_limits);
}

std::optional<Record> Record::decode(std::span<const std::byte> encoding) {
  Member member;
  Reader::Source source{encoding};
  Reader(source).only(member);
  if (!source.sound) return std::nullopt;
  Record record;
  record.sealed_ = std::make_shared<const Sealed>(
      std::move(member),
      std::string(reinterpret_cast<const char*>(encoding.data()), encoding.size()), true);
  return record;
}

const Member& Record::nobody() {
  static const Member nobody;
  return nobody;
}

std::string_view Record::nobody_encoded() {
  static const std::string encoding = encode(nobody());
  return encoding;
}

}  // namespace starling::gossip
