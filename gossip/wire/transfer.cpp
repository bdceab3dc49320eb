#include "gossip/wire/transfer.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/content_hash.h"
#include "base/prng.h"
#include "base/stream_copy.h"

namespace starling::gossip {

ChunkHashes::ChunkHashes(const Payload& payload, std::size_t chunk_bytes)
    : chunk_bytes_(chunk_bytes) {
  for (const Payload::Piece& piece : payload.pieces())
    pieces_.push_back({piece.owner, piece.bytes});
}

bool ChunkHashes::are_of(const Payload& payload, std::size_t chunk_bytes) const {
  return chunk_bytes == chunk_bytes_ &&
         std::ranges::equal(payload.pieces(), pieces_, [](const auto& x, const auto& y) {
           return x.bytes.data() == y.bytes.data() && x.bytes.size() == y.bytes.size() &&
                  !x.owner.owner_before(y.owner) && !y.owner.owner_before(x.owner);
         });
}

std::uint64_t ChunkHashes::at(std::size_t index, const Payload& bytes) {
  const auto known = known_.find(index);
  return known != known_.end() ? known->second : known_[index] = content_hash(bytes);
}

std::uint64_t transfer_of(std::uint64_t incarnation, std::uint64_t epoch, std::uint64_t number) {
  return mix64(mix64(mix64(incarnation) ^ epoch) ^ number);
}

namespace {

// A message without a payload has no transfer; its name is 0.
std::uint64_t transfer_name(const Message& message) {
  if (message.payload.empty()) return 0;
  const auto* round = std::get_if<Round>(&message.body);
  if (!round || round->number == 0) return message.envelope.sequence;
  return transfer_of(message.envelope.incarnation, round->epoch, round->number);
}

}  // namespace

Frame Frames::next() {
  ENSURE(!done_, "a frame is asked for while there is one");
  if (made_) {
    done_ = true;
    return *std::move(made_);
  }
  const std::size_t total = message_.payload.size();
  Chunk chunk;
  chunk.transfer = transfer_name(message_);
  chunk.total = total;
  Payload bytes;
  if (total > 0) {
    chunk.offset = index_ * chunk_bytes_;
    bytes = message_.payload.slice(chunk.offset, std::min(chunk_bytes_, total - chunk.offset));
    chunk.hash = hashes_->at(index_, bytes);
  }
  ++index_;
  done_ = chunk.offset + bytes.size() == total;
  return {encode_header(message_.envelope, message_.body, chunk), std::move(bytes)};
}

std::vector<Frame> Frames::all() {
  std::vector<Frame> frames;
  while (!done_) frames.push_back(next());
  return frames;
}

Frames Cutter::cut(Message message, std::size_t from, std::size_t chunk_bytes) {
  ENSURE(from == 0 || from < message.payload.size(), "there is something left to send");
  if (!message.payload.empty() && (!hashes_ || !hashes_->are_of(message.payload, chunk_bytes)))
    hashes_ = std::make_shared<ChunkHashes>(message.payload, chunk_bytes);
  return Frames(std::move(message), from, chunk_bytes, hashes_);
}

Result<void> Assembler::check(const Header& header, const Payload& bytes) const {
  const Chunk& chunk = header.chunk;
  if (kind_of(header.body).plane != Plane::bulk || chunk.total > payload_bytes_limit_)
    return fail("size");
  if (bytes.empty() || chunk.offset > chunk.total || bytes.size() > chunk.total - chunk.offset)
    return fail("malformed");
  if (content_hash(bytes) != chunk.hash) return fail("checksum");
  return {};
}

Result<std::optional<Message>> Assembler::add(Time now, Header header, Payload bytes) {
  const Chunk& chunk = header.chunk;
  if (chunk.total == 0) {
    if (!bytes.empty()) return fail("malformed");
    return Message{header.envelope, std::move(header.body), {}};
  }
  TRY_DO(check(header, bytes));
  const Key key{header.envelope.sender, chunk.transfer};
  if (chunk.offset == 0 && !partials_.contains(key) && !begin(now, key)) return fail("limit");
  const auto found = partials_.find(key);
  if (found == partials_.end() || found->second.bytes < chunk.offset) return fail("incomplete");
  if (found->second.bytes > chunk.offset) return fail("repeated");
  Partial& partial = found->second;
  if (partial.bytes == 0) partial.total = chunk.total;
  if (partial.total != chunk.total) return fail("malformed");
  make_room(bytes.size(), key);
  partial.last = now;
  put(partial, bytes, chunk.total);
  if (partial.bytes < chunk.total) {
    part_ = {key.first, header.envelope.incarnation, key.second, partial.bytes};
    if (const auto* round = std::get_if<Round>(&header.body))
      part_->received = round->received, part_->beyond = round->beyond;
    return std::nullopt;
  }
  Payload payload = partial.buffer ? Payload(partial.buffer, {partial.buffer.get(), partial.bytes})
                                   : Payload(std::move(partial.pieces));
  Message message{header.envelope, std::move(header.body), std::move(payload)};
  drop(found);
  return message;
}

// A payload gets its buffer with its second chunk.
void Assembler::put(Partial& partial, const Payload& bytes, std::size_t total) {
  const bool has_room = take_ && total == buffered_bytes_ && buffers_ < transfers_limit_;
  if (!partial.buffer && has_room && partial.bytes > 0) {
    partial.buffer = take_(total);
    ++buffers_;
    const Payload before(std::exchange(partial.pieces, {}));
    before.copy_to(0, {partial.buffer.get(), before.size()});
  }
  if (partial.buffer && total >= kStreamedBytes && bytes.pieces().size() == 1)
    stream_copy(bytes.pieces().front().bytes, partial.buffer.get() + partial.bytes);
  else if (partial.buffer)
    bytes.copy_to(0, {partial.buffer.get() + partial.bytes, bytes.size()});
  else
    std::ranges::copy(bytes.pieces(), std::back_inserter(partial.pieces));
  partial.bytes += bytes.size();
  kept_bytes_ += bytes.size();
}

// When the sender has too many transfers, the one that has waited longest for a chunk is dropped.
bool Assembler::begin(Time now, const Key& key) {
  std::size_t count = 0;
  auto oldest = partials_.end();
  for (auto item = partials_.lower_bound({key.first, 0});
       item != partials_.end() && item->first.first == key.first; ++item) {
    ++count;
    if (oldest == partials_.end() || item->second.last < oldest->second.last) oldest = item;
  }
  if (count >= kTransfersPerSender) drop(oldest);
  if (partials_.size() >= kPartialsLimit) return false;
  partials_[key].last = now;
  return true;
}

std::optional<Time> Assembler::last_chunk(NodeId sender) const {
  std::optional<Time> last;
  for (auto item = partials_.lower_bound({sender, 0});
       item != partials_.end() && item->first.first == sender; ++item)
    last = std::max(last.value_or(item->second.last), item->second.last);
  return last;
}

// Drops the transfers that have waited longest first: invented senders begin transfers and send no
// more.
void Assembler::make_room(std::size_t bytes, const Key& except) {
  while (partials_.size() > 1 && (kept_bytes_ + bytes) / transfers_limit_ > payload_bytes_limit_) {
    auto oldest = partials_.end();
    for (auto item = partials_.begin(); item != partials_.end(); ++item)
      if (item->first != except &&
          (oldest == partials_.end() || item->second.last < oldest->second.last))
        oldest = item;
    drop(oldest);
  }
}

std::map<Assembler::Key, Assembler::Partial>::iterator Assembler::drop(
    std::map<Key, Partial>::iterator partial) {
  kept_bytes_ -= partial->second.bytes;
  if (partial->second.buffer) --buffers_;
  return partials_.erase(partial);
}

std::size_t Assembler::expire(Time now, Duration age) {
  std::size_t expired = 0;
  for (auto item = partials_.begin(); item != partials_.end();) {
    const bool is_old = now - item->second.last > age;
    expired += is_old;
    item = is_old ? drop(item) : std::next(item);
  }
  return expired;
}

}  // namespace starling::gossip
