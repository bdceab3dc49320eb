#include "base/utf8.h"

#include <algorithm>
#include <array>

namespace starling {
namespace {

struct Range {
  char32_t first, last;
};
// Unicode 15; U+2028 and U+2029 separate lines and paragraphs.
constexpr std::array<Range, 23> kSteering = {
    {{0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x0600, 0x0605},
     {0x061C, 0x061C},   {0x06DD, 0x06DD},   {0x070F, 0x070F},   {0x0890, 0x0891},
     {0x08E2, 0x08E2},   {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
     {0x2060, 0x2064},   {0x2066, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
     {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},
     {0x1D173, 0x1D17A}, {0xE0001, 0xE0001}, {0xE0020, 0xE007F}}};

// 0 for a byte that begins no character.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

// Most names and addresses; no branch for each byte, so that the loop is vectorised.
bool is_printable_ascii(std::string_view text) {
  unsigned others = 0;
  for (const char byte : text) others |= static_cast<unsigned>(byte < 0x20 || byte >= 0x7F);
  return others == 0;
}

// The least point of so many bytes; a smaller one has a shorter encoding.
constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};

}  // namespace

Utf8Character first_utf8_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = length_of(lead);
  if (length == 0 || length > text.size()) return {};
  if (length == 1) return {1, lead};
  char32_t point = lead & (0x7FU >> length);
  for (const char byte : text.substr(1, length - 1)) {
    if ((byte & 0xC0) != 0x80) return {};
    point = point << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  const bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < kLeast[length] || point > 0x10FFFF || is_surrogate) return {};
  return {length, point};
}

bool is_utf8(std::string_view text) {
  if (is_printable_ascii(text)) return true;
  while (!text.empty()) {
    const Utf8Character next = first_utf8_character(text);
    if (!next.point) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

bool is_steering(char32_t point) {
  return std::ranges::any_of(kSteering, [point](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

bool is_plain(std::string_view text) {
  if (is_printable_ascii(text)) return true;
  while (!text.empty()) {
    const Utf8Character next = first_utf8_character(text);
    if (next.point && is_steering(*next.point)) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const Utf8Character next = first_utf8_character(text);
    const bool is_safe = next.point && !is_steering(*next.point);
    safe += is_safe ? std::string(text.substr(0, next.bytes)) : std::string(next.bytes, '?');
    text.remove_prefix(next.bytes);
  }
  return safe;
}

}  // namespace starling
