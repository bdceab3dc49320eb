// Wire: encodes a message header as MessagePack and decodes it. An XXH3 checksum follows the header
// (8 bytes, little endian), because one flipped bit could make an incarnation or a round of any
// size. The schema is exact: arity, types, ranges, nothing after the last field. docs/wire.md
// lists the fields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class RecordCache;

inline constexpr std::uint64_t kProtocolVersion = 17;
inline constexpr std::size_t kHeaderBytesLimit = 2 << 20;  // including the checksum
inline constexpr std::size_t kHeaderSumBytes = 8;
inline constexpr std::size_t kNameBytesLimit = 128;
inline constexpr std::size_t kCertificateBytesLimit = 512;        // as encoded
inline constexpr std::size_t kRevocationsBytesLimit = 768 << 10;  // the same
inline constexpr std::size_t kTermsLimit = 128;                   // agreed keys
inline constexpr std::size_t kSettingChangesLimit = 512;          // of one run
inline constexpr std::size_t kReasonBytesLimit = 256;
// The limit of one node's survey, and of all surveys in one message. Above what any objective
// produces.
inline constexpr std::size_t kSurveyBytesLimit = 640 << 10;
inline constexpr std::size_t kQuantitiesLimit = 32;  // with extremes
inline constexpr std::size_t kEstimateLimit = 256;   // numbers in a running estimate
inline constexpr std::uint64_t kRoundLimit = 1ULL << 48;
inline constexpr std::uint64_t kPercentLimit = 100;
inline constexpr std::uint64_t kWishLimit = 1 << 16;  // local steps of a round
// Bound of Round::share: no end moves beyond its peer.
inline constexpr double kShareLimit = 1;
// Incarnations and versions are below these limits, which counters never reach.
inline constexpr std::uint64_t kIncarnationLimit = 1ULL << 62;
inline constexpr std::uint64_t kVersionLimit = 1ULL << 62;
// How far ahead of a node's clock, in ms, the node believes an incarnation to be. Larger: false
// values leave less room above them. Smaller: nodes with a wrong clock refuse others or are
// refused. This is 1,100 years.
inline constexpr std::uint64_t kIncarnationLead = 1ULL << 45;
// The latest incarnation that a node believes at that time, in ms. The next one is within the
// limit, and acceptable a millisecond later, so that any accepted incarnation can be exceeded.
constexpr std::uint64_t latest_incarnation(std::uint64_t clock) {
  return std::min(clock, kIncarnationLimit - 2 - kIncarnationLead) + kIncarnationLead;
}

// The part of a payload that comes with a header. Every chunk repeats the whole header.
struct Chunk {
  std::uint64_t transfer =
      0;  // chosen by the sender; within an incarnation never the same for two payloads
  std::uint64_t offset = 0;  // bytes of the payload before this chunk
  std::uint64_t total = 0;   // bytes of the payload; 0: no payload
  std::uint64_t hash = 0;    // XXH3 of the chunk's bytes
};

struct Header {
  Envelope envelope;
  Body body;
  Chunk chunk;
};

// Appends the checksum to the encoded fields.
std::string seal_header(std::string fields);
// REQUIRES is_within_limits(body); the receiver refuses any other header as malformed.
std::string encode_header(const Envelope& envelope, const Body& body, const Chunk& chunk);
// Whether every field is within the limits of decode_header() (see fields.h).
bool is_within_limits(const Body& body);

// The sender of a Join in another version of the protocol.
struct OtherVersion {
  std::uint64_t version = 0;
  std::string name;
  Endpoint control;
};
// Reads bytes that decode_header() refused with "protocol": in all versions a Join begins alike.
// Returns nothing for another kind of message, or if its name or address is invalid.
std::optional<OtherVersion> read_other_version(std::span<const std::byte> bytes);

// The error is one of "checksum", "malformed", "protocol", "size". `records`: known ones, which
// need not be decoded; null: none.
Result<Header> decode_header(std::span<const std::byte> bytes, RecordCache* records = nullptr);

}  // namespace starling::gossip
