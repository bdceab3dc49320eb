#include "gossip/transfer.h"

#include <algorithm>

#include "base/check.h"
#include "gossip/chunk_hash.h"

namespace starling::gossip {

bool ChunkHashes::are_of(const Payload& payload, std::size_t chunk_bytes) const {
  return chunk_bytes == chunk_bytes_ &&
         std::ranges::equal(payload.pieces(), payload_.pieces(), [](const auto& x, const auto& y) {
           return x.bytes.data() == y.bytes.data() && x.bytes.size() == y.bytes.size();
         });
}

std::uint64_t ChunkHashes::at(std::size_t index, const Payload& bytes) {
  ENSURE(index <= known_.size(), "chunks are hashed in their order");
  if (index == known_.size()) known_.push_back(chunk_hash(bytes));
  return known_[index];
}

Frame Frames::next() {
  ENSURE(!done_, "a frame is asked for while there is one");
  if (made_) {
    done_ = true;
    return *std::move(made_);
  }
  const std::size_t total = message_.payload.size();
  Chunk chunk;
  chunk.transfer = message_.envelope.sequence;
  chunk.total = total;
  Payload body;
  if (total > 0) {
    chunk.offset = index_ * chunk_bytes_;
    body = message_.payload.slice(chunk.offset, std::min(chunk_bytes_, total - chunk.offset));
    chunk.hash = hashes_->at(index_, body);
  }
  ++index_;
  done_ = chunk.offset + body.size() == total;
  return {encode_header(message_.envelope, message_.body, chunk), std::move(body)};
}

std::vector<Frame> Frames::all() {
  std::vector<Frame> frames;
  while (!done_) frames.push_back(next());
  return frames;
}

Frames Cutter::cut(Message message, std::size_t chunk_bytes) {
  if (!message.payload.empty() && (!hashes_ || !hashes_->are_of(message.payload, chunk_bytes)))
    hashes_ = std::make_shared<ChunkHashes>(message.payload, chunk_bytes);
  return Frames(std::move(message), chunk_bytes, hashes_);
}

Result<std::optional<Message>> Assembler::add(Time now, Header header, Payload body) {
  const Chunk& chunk = header.chunk;
  if (chunk.total == 0) {
    if (!body.empty()) return fail("malformed");
    return Message{header.envelope, std::move(header.body), {}};
  }
  if (plane_of(header.body) != Plane::bulk || chunk.total > payload_bytes_limit_)
    return fail("size");
  if (body.empty() || chunk.offset > chunk.total || body.size() > chunk.total - chunk.offset)
    return fail("malformed");
  if (chunk_hash(body) != chunk.hash) return fail("checksum");

  const NodeId sender = header.envelope.sender;
  if (chunk.offset == 0) {
    if (!partials_.contains(sender) && partials_.size() >= kPartialsLimit) return fail("limit");
    partials_[sender] = {chunk.transfer, {}, 0, now};
  }
  const auto found = partials_.find(sender);
  if (found == partials_.end() || found->second.transfer != chunk.transfer ||
      found->second.bytes != chunk.offset)
    return fail("incomplete");
  Partial& partial = found->second;
  partial.last = now;
  partial.bytes += body.size();
  std::ranges::copy(body.pieces(), std::back_inserter(partial.pieces));
  if (partial.bytes < chunk.total) return std::nullopt;
  Message message{header.envelope, std::move(header.body), Payload(std::move(partial.pieces))};
  partials_.erase(found);
  return message;
}

std::optional<Time> Assembler::last_chunk(NodeId sender) const {
  const auto found = partials_.find(sender);
  return found == partials_.end() ? std::nullopt : std::optional(found->second.last);
}

std::size_t Assembler::expire(Time now, Duration age) {
  return std::erase_if(partials_, [&](const auto& entry) { return now - entry.second.last > age; });
}

}  // namespace starling::gossip
