// Transfer: a message cut into frames that each fit a queue, and put together again.
// One frame pair is a header and at most kChunkBytes of the payload.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/payload.h"
#include "base/result.h"
#include "base/time.h"
#include "gossip/wire.h"

namespace starling::gossip {

inline constexpr std::size_t kChunkBytes = 512 << 10;

struct Frame {
  std::string header;
  Payload body;  // shares the message's payload
};

// Cuts messages. A payload and the hashes of its chunks are kept for the next neighbour it is sent
// to.
class Cutter {
 public:
  std::vector<Frame> cut(const Message& message, std::size_t chunk_bytes = kChunkBytes);

 private:
  const std::vector<std::uint64_t>& hashes(const Payload& payload, std::size_t chunk_bytes);

  Payload hashed_;
  std::size_t hashed_chunk_bytes_ = 0;
  std::vector<std::uint64_t> hashes_;
};

// Puts chunks together, of one transfer per sender at a time: connections keep the order, so a
// chunk that is not the next one means that the rest is lost. Payload bytes are not copied.
class Assembler {
 public:
  // Largest payload that is accepted; set from the model's size.
  void set_payload_limit(std::size_t bytes) { payload_bytes_limit_ = bytes; }

  // A whole message, nothing while chunks are missing, or why the chunk is refused.
  Result<std::optional<Message>> add(Time now, Header header, Payload body);
  // Forgets transfers that have stood still, at the latest after `age`; returns how many.
  std::size_t expire(Time now, Duration age);

 private:
  struct Partial {
    std::uint64_t transfer = 0;
    std::vector<Payload::Piece> pieces;
    std::size_t bytes = 0;
    Time last{};
  };
  static constexpr std::size_t kPartialsLimit = 4096;

  std::size_t payload_bytes_limit_ = 0;
  std::map<NodeId, Partial> partials_;
};

}  // namespace starling::gossip
