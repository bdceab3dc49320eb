#include "base/payload.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace starling {

Payload Payload::slice(std::size_t offset, std::size_t length) const {
  ENSURE(offset <= size_ && length <= size_ - offset, "a slice lies inside its payload");
  std::vector<Piece> pieces;
  for (const Piece& piece : pieces_) {
    if (length == 0) break;
    if (offset >= piece.bytes.size()) {
      offset -= piece.bytes.size();
      continue;
    }
    const std::size_t taken = std::min(length, piece.bytes.size() - offset);
    pieces.push_back({piece.owner, piece.bytes.subspan(offset, taken)});
    length -= taken;
    offset = 0;
  }
  return Payload(std::move(pieces));
}

void Payload::copy_to(std::size_t offset, std::span<std::byte> out) const {
  ENSURE(offset <= size_ && out.size() <= size_ - offset, "a copy lies inside its payload");
  for (const Piece& piece : pieces_) {
    if (out.empty()) return;
    if (offset >= piece.bytes.size()) {
      offset -= piece.bytes.size();
      continue;
    }
    const std::size_t taken = std::min(out.size(), piece.bytes.size() - offset);
    std::memcpy(out.data(), piece.bytes.data() + offset, taken);
    out = out.subspan(taken);
    offset = 0;
  }
}

}  // namespace starling
