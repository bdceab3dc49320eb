#include "base/base64url.h"

#include <sodium.h>

#include <algorithm>

#include "base/check.h"

namespace starling {
namespace {

constexpr int kAlphabet = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

}  // namespace

void write_base64url(std::span<const std::byte> bytes, std::span<char> text) {
  ENSURE(text.size() == base64url_size(bytes.size()), "the text has the size of the bytes");
  // libsodium writes a zero after the text, for which the caller's text has no room: so the text is
  // written in pieces of whole groups, through a small buffer.
  constexpr std::size_t kGroup = 3, kCharacters = 4;
  char group[kCharacters + 1];
  for (std::size_t byte = 0, at = 0; byte < bytes.size(); byte += kGroup, at += kCharacters) {
    const auto part = bytes.subspan(byte, std::min(kGroup, bytes.size() - byte));
    sodium_bin2base64(group, sodium_base64_encoded_len(part.size(), kAlphabet),
                      reinterpret_cast<const unsigned char*>(part.data()), part.size(), kAlphabet);
    for (std::size_t i = 0; i < base64url_size(part.size()); ++i) text[at + i] = group[i];
  }
  sodium_memzero(group, sizeof group);
}

std::string to_base64url(std::span<const std::byte> bytes) {
  std::string text(base64url_size(bytes.size()), '\0');
  write_base64url(bytes, text);
  return text;
}

bool read_base64url(std::string_view text, std::span<std::byte> bytes) {
  // libsodium 1.0.18 takes bytes above 127 for characters of the alphabet.
  const bool is_ascii =
      std::ranges::all_of(text, [](char sign) { return static_cast<unsigned char>(sign) < 128; });
  if (!is_ascii || text.size() != base64url_size(bytes.size())) return false;
  if (text.empty()) return true;
  std::size_t size = 0;
  const char* end = nullptr;
  return sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                           text.data(), text.size(), nullptr, &size, &end, kAlphabet) == 0 &&
         size == bytes.size() && end == text.data() + text.size();
}

}  // namespace starling
