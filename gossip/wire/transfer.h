// Transfer: cuts a message into frames that each fit a queue, and reassembles them. One pair of
// frames is a header and at most kChunkBytes of the payload. A numbered vector keeps the name of
// its transfer when it is retransmitted, so that the chunks that came before still count.
#pragma once

#include <cstdint>
#include <functional>
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

// Larger: on a slow link a sign of life comes later. Smaller: fast links carry more headers.
inline constexpr std::size_t kChunkBytes = 256 << 10;

struct Frame {
  std::string header;
  Payload payload;  // the part of the message's payload in this chunk; its bytes are shared
};

// The hashes of a payload's chunks, each computed when first requested.
class ChunkHashes {
 public:
  ChunkHashes(const Payload& payload, std::size_t chunk_bytes);

  // Whether the hashes are of the same bytes. Compares addresses and owners, not contents, so that
  // memory which is used again has other hashes.
  bool are_of(const Payload& payload, std::size_t chunk_bytes) const;
  // The hash of chunk `index`, whose bytes are `bytes`.
  std::uint64_t at(std::size_t index, const Payload& bytes);

 private:
  struct Piece {
    std::weak_ptr<const void> owner;
    std::span<const std::byte> bytes;
  };
  std::vector<Piece> pieces_;
  std::size_t chunk_bytes_;
  std::map<std::size_t, std::uint64_t> known_;  // by chunk
};

// The name of a vector's transfer: vector `number` of the opening that the sender numbers `epoch`.
std::uint64_t transfer_of(std::uint64_t incarnation, std::uint64_t epoch, std::uint64_t number);

// The frames of one message. Each frame is made when it is requested: a chunk is hashed just before
// it is sent, and the first one leaves at once.
class Frames {
 public:
  // Starts with the chunk that holds byte `from` of the payload.
  Frames(Message message, std::size_t from, std::size_t chunk_bytes,
         std::shared_ptr<ChunkHashes> hashes)
      : message_(std::move(message)),
        chunk_bytes_(chunk_bytes),
        hashes_(std::move(hashes)),
        index_(from / chunk_bytes) {}
  // A single given frame, whether valid or not.
  explicit Frames(Frame frame) : made_(std::move(frame)) {}

  bool done() const { return done_; }
  bool has_payload() const { return made_ ? !made_->payload.empty() : !message_.payload.empty(); }
  // REQUIRES !done().
  Frame next();
  // The remaining frames.
  std::vector<Frame> all();

 private:
  std::optional<Frame> made_;
  Message message_;
  std::size_t chunk_bytes_ = 0;
  std::shared_ptr<ChunkHashes> hashes_;
  std::size_t index_ = 0;
  bool done_ = false;
};

// Cuts messages into frames. It keeps the hashes of the last payload for the next neighbour that
// gets the same payload. One thread owns the cutter and the frames that it returns.
class Cutter {
 public:
  // REQUIRES `from` below the size of the payload, or 0.
  Frames cut(Message message, std::size_t from = 0, std::size_t chunk_bytes = kChunkBytes);

 private:
  std::shared_ptr<ChunkHashes> hashes_;
};

// Reassembles the chunks of the last kTransfersPerSender transfers of each sender. Connections keep
// the order, so a chunk that is not the next one means that the chunks between are lost; those
// before are kept until the sender retransmits the missing ones. Chunks are not copied, but for
// vectors that have a buffer.
class Assembler {
 public:
  // The largest payload accepted, in bytes; follows from the model's size.
  void set_payload_limit(std::size_t bytes) { payload_bytes_limit_ = bytes; }
  // Payloads of several chunks and so many bytes are copied together into a buffer that `take`
  // gives, as many at a time as set_senders() allows.
  void set_buffers(std::size_t bytes, TakeBuffer take) {
    buffered_bytes_ = bytes;
    take_ = std::move(take);
  }
  // Sets the usual number of senders. The bytes of all incomplete transfers are at most those of so
  // many senders' largest transfers, plus kTransfersSpare. Beyond that the transfers that have
  // waited longest for a chunk are dropped.
  void set_senders(std::size_t count) {
    transfers_limit_ = kTransfersPerSender * count + kTransfersSpare;
  }

  // Returns a whole message, nothing while chunks are missing, or an error that names why the chunk
  // is refused.
  Result<std::optional<Message>> add(Time now, Header header, Payload bytes);
  // When the newest chunk of an incomplete transfer came; nothing if the sender has none.
  std::optional<Time> last_chunk(NodeId sender) const;
  // The transfer of the last chunk added, if the transfer is still incomplete.
  struct Part {
    NodeId sender;
    std::uint64_t incarnation = 0;  // of the sender
    std::uint64_t transfer = 0;
    std::size_t bytes = 0;                   // that have come
    std::uint64_t received = 0, beyond = 0;  // of Round
  };
  std::optional<Part> take_part() { return std::exchange(part_, std::nullopt); }
  // Forgets transfers that got no chunk for longer than `age`; returns how many.
  std::size_t expire(Time now, Duration age);
  // Of the kept chunks.
  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Partial {
    std::vector<Payload::Piece> pieces;
    std::shared_ptr<std::byte> buffer = nullptr;  // in place of pieces
    std::size_t total = 0, bytes = 0;             // as every chunk says, and that have come
    Time last{};
  };
  static constexpr std::size_t kPartialsLimit = 4096;
  // An interrupted transfer and the one after it. Larger: a sender can make this node hold more.
  // Smaller: an interrupted vector begins again.
  static constexpr std::size_t kTransfersPerSender = 2;
  // For closing edges, and for donors. Larger: peers can make this node hold more memory. Smaller:
  // vectors begin again more often while the topology changes.
  static constexpr std::size_t kTransfersSpare = 8;
  using Key = std::pair<NodeId, std::uint64_t>;  // sender and transfer

  // Whether the chunk is acceptable by itself, whatever came before.
  Result<void> check(const Header& header, const Payload& bytes) const;
  bool begin(Time now, const Key& key);
  void put(Partial& partial, const Payload& bytes, std::size_t total);
  void make_room(std::size_t bytes, const Key& except);
  std::map<Key, Partial>::iterator drop(std::map<Key, Partial>::iterator partial);

  std::size_t payload_bytes_limit_ = 0, transfers_limit_ = kTransfersSpare;
  std::size_t kept_bytes_ = 0;
  std::size_t buffered_bytes_ = 0, buffers_ = 0;  // of a payload with a buffer, and those in use
  TakeBuffer take_;
  std::map<Key, Partial> partials_;
  std::optional<Part> part_;
};

}  // namespace starling::gossip
