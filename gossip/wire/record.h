// Record: a Member as it travels, with its encoding. It is immutable, and all that hold it share
// it: passing it on copies a pointer, and a message with it copies its bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gossip/wire/member.h"

namespace starling::gossip {

class Record {
 public:
  // Of nobody.
  Record() = default;
  Record(Member member);
  // Nothing if it is malformed.
  static std::optional<Record> decode(std::span<const std::byte> encoding);

  const Member& operator*() const { return sealed_ ? sealed_->member : nobody(); }
  const Member* operator->() const { return &**this; }
  operator const Member&() const { return **this; }
  // MessagePack, as in wire.md.
  std::string_view encoding() const { return sealed_ ? sealed_->encoding : nobody_encoded(); }
  // Whether all fields are within the limits of the protocol.
  bool is_within_limits() const { return !sealed_ || sealed_->is_within_limits; }
  // Whether both are one object; if not, they may be equal all the same.
  bool is(const Record& other) const { return sealed_ == other.sealed_; }

  // Becomes another record.
  template <class Change>
  void change(const Change& change) {
    Member changed = **this;
    change(changed);
    *this = Record(std::move(changed));
  }

 private:
  struct Sealed {
    Member member;
    std::string encoding;
    bool is_within_limits = true;
  };
  static const Member& nobody();
  static std::string_view nobody_encoded();

  std::shared_ptr<const Sealed> sealed_;
};

}  // namespace starling::gossip
