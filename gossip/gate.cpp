#include "gossip/gate.h"

#include "base/planted.h"

namespace starling::gossip {
namespace {

constexpr Duration kTransferPatience = std::chrono::seconds(30);

}  // namespace

std::optional<Message> Gate::admit(Time now, const Received& received) {
  Result<Header> header = decode_header(received.header);
  if (!header) return count(header.error().text), std::nullopt;
  if (plane_of(header->body) != received.plane) return count("plane"), std::nullopt;
  if (header->envelope.cluster != cluster_) return count("cluster"), std::nullopt;
  if (header->envelope.sender == self_) return count("own name"), std::nullopt;
  const std::size_t bytes = received.body.size();
  auto message = assembler_.add(now, std::move(*header), received.body);
  if (!message) return count(message.error().text), std::nullopt;
  received_bytes_ += bytes;
  if (!*message) return std::nullopt;
  if (!is_new(**message) && !PLANTED(duplicate_applied)) return count("repeated"), std::nullopt;
  return std::move(*message);
}

bool Gate::is_new(const Message& message) {
  const Envelope& envelope = message.envelope;
  const auto key = std::pair(envelope.sender, plane_of(message.body));
  if (!windows_.contains(key) && windows_.size() >= kWindowsLimit) windows_.clear();
  Window& window = windows_[key];
  if (envelope.incarnation < window.incarnation) return false;
  if (envelope.incarnation > window.incarnation) window = {envelope.incarnation, 0, {}};
  if (envelope.sequence > window.highest) {
    const std::uint64_t ahead = envelope.sequence - window.highest;
    window.seen = ahead < window.seen.size() ? window.seen << ahead : std::bitset<256>();
    window.highest = envelope.sequence;
  }
  const std::uint64_t back = window.highest - envelope.sequence;
  if (back >= window.seen.size() || window.seen[back]) return false;
  window.seen.set(back);
  return true;
}

void Gate::tick(Time now) {
  for (std::size_t n = assembler_.expire(now, kTransferPatience); n > 0; --n) count("incomplete");
}

void Gate::count(const std::string& reason) {
  if (rejected_.contains(reason) || rejected_.size() < kReasonsLimit) ++rejected_[reason];
}

}  // namespace starling::gossip
