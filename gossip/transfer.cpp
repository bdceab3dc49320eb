#include "gossip/transfer.h"

#include <algorithm>

#include "base/check.h"
#include "gossip/chunk_hash.h"

namespace starling::gossip {
namespace {

// The very same bytes, by where they lie: `b` keeps them from being freed and used again.
bool are_same_bytes(const Payload& a, const Payload& b) {
  return std::ranges::equal(a.pieces(), b.pieces(), [](const auto& x, const auto& y) {
    return x.bytes.data() == y.bytes.data() && x.bytes.size() == y.bytes.size();
  });
}

}  // namespace

std::vector<Frame> Cutter::cut(const Message& message, std::size_t chunk_bytes) {
  const std::size_t total = message.payload.size();
  Chunk chunk;
  chunk.transfer = message.envelope.sequence;
  chunk.total = total;
  std::vector<Frame> frames;
  if (total == 0) {
    frames.push_back({encode_header(message.envelope, message.body, chunk), {}});
    return frames;
  }
  const std::vector<std::uint64_t>& sums = hashes(message.payload, chunk_bytes);
  frames.reserve(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    chunk.offset = i * chunk_bytes;
    chunk.hash = sums[i];
    const std::size_t length = std::min(chunk_bytes, total - chunk.offset);
    frames.push_back({encode_header(message.envelope, message.body, chunk),
                      message.payload.slice(chunk.offset, length)});
  }
  return frames;
}

const std::vector<std::uint64_t>& Cutter::hashes(const Payload& payload, std::size_t chunk_bytes) {
  if (chunk_bytes == hashed_chunk_bytes_ && are_same_bytes(payload, hashed_)) return hashes_;
  hashes_.clear();
  for (std::size_t offset = 0; offset < payload.size(); offset += chunk_bytes)
    hashes_.push_back(
        chunk_hash(payload.slice(offset, std::min(chunk_bytes, payload.size() - offset))));
  hashed_ = payload;
  hashed_chunk_bytes_ = chunk_bytes;
  return hashes_;
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

std::size_t Assembler::expire(Time now, Duration age) {
  return std::erase_if(partials_, [&](const auto& entry) { return now - entry.second.last > age; });
}

}  // namespace starling::gossip
