// SignedRecord: how a signed record is encoded. A MessagePack array of its version and its fields,
// then the 64 bytes of an Ed25519 signature over the record's title and that array. The title is
// not sent: it keeps a signature of one kind of record from fitting another kind.
//
// A record T has kTitle, kVersion, kBytesLimit, a member `signature`, and a field list as those of
// gossip/wire/fields.h, which does not list the signature.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/keys.h"
#include "gossip/wire/archives.h"

namespace starling::gossip {

// The array: what is encoded, but for the signature.
template <class T>
std::string unsigned_part(const T& record) {
  Writer out;
  out.array(1 + count_fields(record));
  out.number(T::kVersion);
  fields(out, record);
  return out.take();
}

template <class T>
bool is_within_record_limits(const T& record) {
  Checker checker;
  checker.record(record);
  return checker.sound();
}

// REQUIRES a record within its limits.
template <class T>
void sign_record(T& record, const KeyPair& by) {
  const std::string message = std::string(T::kTitle) + unsigned_part(record);
  record.signature = by.sign(std::as_bytes(std::span(message)));
}

template <class T>
bool is_record_signed(const T& record, const PublicKey& by) {
  const std::string message = std::string(T::kTitle) + unsigned_part(record);
  return verify(by, std::as_bytes(std::span(message)), record.signature);
}

template <class T>
std::string encode_record(const T& record) {
  std::string bytes = unsigned_part(record);
  for (const std::byte byte : record.signature.bytes) bytes.push_back(static_cast<char>(byte));
  return bytes;
}

// Reads bytes from outside; the signature is not verified. The errors are for people: the version,
// the size, or "malformed". Bytes that encode_record() would not write are malformed.
template <class T>
Result<T> decode_record(std::span<const std::byte> bytes) {
  if (bytes.size() <= kSignatureBytes || bytes.size() > T::kBytesLimit)
    return fail("a {} of {} bytes; expected {} to {}", T::kTitle, bytes.size(), kSignatureBytes + 1,
                T::kBytesLimit);
  const auto content = bytes.first(bytes.size() - kSignatureBytes);
  T record;
  std::uint64_t version = 0;
  Reader::Source source{content};
  Reader in(source);
  in.number(version, kAnyNumber);
  if (source.sound && version != T::kVersion && version != 0)
    return fail("a {} of version {}; this program reads version {}", T::kTitle, version,
                T::kVersion);
  in.only(record);
  std::ranges::copy(bytes.last(kSignatureBytes), record.signature.bytes.begin());
  const std::string again = unsigned_part(record);
  if (!source.sound || !std::ranges::equal(std::as_bytes(std::span(again)), content))
    return fail("a {} that is malformed", T::kTitle);
  return record;
}

}  // namespace starling::gossip
