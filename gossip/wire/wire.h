// Wire: a message header as MessagePack and back, closed by its XXH3 checksum (8 bytes, little
// endian), since one flipped bit may make an incarnation or a round of any size. The schema is
// exact: arity, types, ranges, nothing behind. docs/protocol.md lists the fields.
#pragma once

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

inline constexpr std::uint64_t kProtocolVersion = 3;
inline constexpr std::size_t kHeaderBytesLimit = 1 << 20;  // with its checksum
inline constexpr std::size_t kHeaderSumBytes = 8;
inline constexpr std::size_t kNameBytesLimit = 128;
inline constexpr std::size_t kTermsLimit = 128;  // agreed keys
inline constexpr std::size_t kReasonBytesLimit = 256;
// Of one node, and of all in one message; above what the objectives make.
inline constexpr std::size_t kSurveyBytesLimit = 640 << 10;
inline constexpr std::size_t kEstimateLimit = 256;  // numbers in a running estimate
inline constexpr std::uint64_t kRoundLimit = 1ULL << 48;
// Of Round::share: no end gives away more than half of a difference.
inline constexpr double kShareLimit = 0.5;
// Incarnations and versions are below these. Neither milliseconds of a clock that is wrong by years
// nor counting comes near, and there is room above whatever a wrong one claims.
inline constexpr std::uint64_t kIncarnationLimit = 1ULL << 62;
inline constexpr std::uint64_t kVersionLimit = 1ULL << 62;

// Which part of a payload travels with a header. Every chunk repeats the whole header.
struct Chunk {
  std::uint64_t transfer = 0;  // of the sender, never of two payloads of an incarnation
  std::uint64_t offset = 0;    // bytes before it
  std::uint64_t total = 0;     // bytes of the payload; 0: there is none
  std::uint64_t hash = 0;      // XXH3 of the chunk's bytes
};

struct Header {
  Envelope envelope;
  Body body;
  Chunk chunk;
};

// Appends the checksum.
std::string seal_header(std::string fields);
// REQUIRES a body within its limits; of any other the receiver finds the header malformed.
std::string encode_header(const Envelope& envelope, const Body& body, const Chunk& chunk);
// Whether every field is within the limits that decode_header() asks for (see fields.h).
bool is_within_limits(const Body& body);

// Who asked to join in the words of another version of the protocol.
struct OtherVersion {
  std::uint64_t version = 0;
  std::string name;
  Endpoint control;
};
// Of bytes that decode_header() refused for "protocol": all versions have begun a Join alike.
// Nothing where it is none, or its name or address are no such.
std::optional<OtherVersion> read_other_version(std::span<const std::byte> bytes);

// The error is one word or two, fit for a counter: "checksum", "malformed", "protocol", "size".
Result<Header> decode_header(std::span<const std::byte> bytes);

}  // namespace starling::gossip
