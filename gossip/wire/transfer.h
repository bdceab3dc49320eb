// Transfer: a message cut into frames that each fit a queue, and put together again.
// One frame pair is a header and at most kChunkBytes of the payload. A vector that is numbered on
// an edge keeps the name of its transfer when it is sent again, so that what came before counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "base/result.h"
#include "base/time.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {

// Smaller: a thin link shows sooner that its sender lives, and fast ones carry more headers.
inline constexpr std::size_t kChunkBytes = 256 << 10;

struct Frame {
  std::string header;
  Payload body;  // shares the message's payload
};

// The hashes of a payload's chunks, each computed when it is first asked for. It keeps the payload,
// so that its bytes are not freed and used again.
class ChunkHashes {
 public:
  ChunkHashes(Payload payload, std::size_t chunk_bytes)
      : payload_(std::move(payload)), chunk_bytes_(chunk_bytes) {}

  // Whether these are of the very same bytes, by where they lie.
  bool are_of(const Payload& payload, std::size_t chunk_bytes) const;
  // Of the chunk `index`, which holds `bytes`.
  std::uint64_t at(std::size_t index, const Payload& bytes);

 private:
  Payload payload_;
  std::size_t chunk_bytes_;
  std::map<std::size_t, std::uint64_t> known_;  // by chunk
};

// The name of the transfer of a vector: number `index` of the sender's edge `epoch`.
std::uint64_t transfer_of(std::uint64_t incarnation, std::uint64_t epoch, std::uint64_t index);

// The frames of one message. Each is made when it is its turn, so that a chunk is hashed just
// before it is sent and the first one leaves at once.
class Frames {
 public:
  // Only those with bytes from `from` on.
  Frames(Message message, std::size_t from, std::size_t chunk_bytes,
         std::shared_ptr<ChunkHashes> hashes)
      : message_(std::move(message)),
        chunk_bytes_(chunk_bytes),
        hashes_(std::move(hashes)),
        index_(from / chunk_bytes) {}
  // One frame as it is, sound or not.
  explicit Frames(Frame frame) : made_(std::move(frame)) {}

  bool done() const { return done_; }
  bool has_payload() const { return made_ ? !made_->body.empty() : !message_.payload.empty(); }
  // REQUIRES !done().
  Frame next();
  // The rest of them.
  std::vector<Frame> all();

 private:
  std::optional<Frame> made_;
  Message message_;
  std::size_t chunk_bytes_ = 0;
  std::shared_ptr<ChunkHashes> hashes_;
  std::size_t index_ = 0;
  bool done_ = false;
};

// Cuts messages. A payload and the hashes of its chunks are kept for the next neighbour it is sent
// to. One thread owns it and the frames it gives.
class Cutter {
 public:
  // REQUIRES `from` below the size of the payload, or 0.
  Frames cut(Message message, std::size_t from = 0, std::size_t chunk_bytes = kChunkBytes);

 private:
  std::shared_ptr<ChunkHashes> hashes_;
};

// Puts chunks together, of the last kTransfersPerSender transfers of a sender. Connections keep the
// order, so a chunk that is not the next one means that those between are lost; what came before it
// is kept for when they come again. Payload bytes are not copied.
class Assembler {
 public:
  // Largest payload that is accepted; set from the model's size.
  void set_payload_limit(std::size_t bytes) { payload_bytes_limit_ = bytes; }

  // A whole message, nothing while chunks are missing, or why the chunk is refused.
  Result<std::optional<Message>> add(Time now, Header header, Payload body);
  // When the newest chunk of a transfer that is under way came; nothing without one.
  std::optional<Time> last_chunk(NodeId sender) const;
  // The transfer of the last chunk that was added, where more of it is missing.
  struct Part {
    NodeId sender;
    std::uint64_t incarnation = 0;  // of the sender
    std::uint64_t transfer = 0;
    std::size_t bytes = 0;  // that have come
  };
  std::optional<Part> take_part() { return std::exchange(part_, std::nullopt); }
  // Forgets transfers that have stood still, at the latest after `age`; returns how many.
  std::size_t expire(Time now, Duration age);

 private:
  struct Partial {
    std::vector<Payload::Piece> pieces;
    std::size_t bytes = 0;
    Time last{};
  };
  static constexpr std::size_t kPartialsLimit = 4096;
  // One that was cut off, and the one behind it.
  static constexpr std::size_t kTransfersPerSender = 2;
  using Key = std::pair<NodeId, std::uint64_t>;  // sender and transfer

  // Why a chunk of a payload is refused whatever came before.
  Result<void> check(const Header& header, const Payload& body) const;
  bool begin(Time now, const Key& key);

  std::size_t payload_bytes_limit_ = 0;
  std::map<Key, Partial> partials_;
  std::optional<Part> part_;
};

}  // namespace starling::gossip
