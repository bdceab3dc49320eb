// base64url: bytes as text of letters, digits, '-' and '_' (RFC 4648, section 5), without padding.
// Takes the same time whatever the bytes are, so that secrets may pass through it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace starling {

// The characters for so many bytes.
constexpr std::size_t base64url_size(std::size_t bytes) {
  return (bytes * 4 + 2) / 3;
}
// The bytes of so many characters; nothing if no text has so many.
constexpr std::optional<std::size_t> base64url_bytes(std::size_t characters) {
  if (characters % 4 == 1) return std::nullopt;
  return characters * 3 / 4;
}

// REQUIRES text.size() == base64url_size(bytes.size()).
void write_base64url(std::span<const std::byte> bytes, std::span<char> text);
std::string to_base64url(std::span<const std::byte> bytes);

// False if the text is not base64url of exactly so many bytes. The only text of some bytes is the
// one that write_base64url() gives. What `bytes` holds after false is undefined.
bool read_base64url(std::string_view text, std::span<std::byte> bytes);

}  // namespace starling
