#include "daemon/cli/terminal/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/text.h"
#include "base/utf8.h"

namespace starling::daemon {
namespace {

struct Character {
  std::size_t bytes = 1, columns = 1;
};

struct Range {
  char32_t first, last;
};
// The blocks of Unicode that terminals draw without a width of their own, and with two columns.
constexpr std::array<Range, 6> kCombining = {{{0x0300, 0x036F},
                                              {0x1AB0, 0x1AFF},
                                              {0x1DC0, 0x1DFF},
                                              {0x200B, 0x200F},
                                              {0x20D0, 0x20FF},
                                              {0xFE00, 0xFE0F}}};
constexpr std::array<Range, 8> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0x1F300, 0x1FAFF},
                                         {0x20000, 0x3FFFD}}};

bool is_within(std::span<const Range> ranges, char32_t point) {
  return std::ranges::any_of(
      ranges, [point](const Range& range) { return point >= range.first && point <= range.last; });
}

// "\x1b[33m"; 0 where none begins.
std::size_t color_bytes(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

// REQUIRES a text that is not empty.
Character first_character(std::string_view text) {
  if (const std::size_t bytes = color_bytes(text)) return {bytes, 0};
  const Utf8Character next = first_utf8_character(text);
  if (!next.point) return {};
  if (is_within(kCombining, *next.point)) return {next.bytes, 0};
  return {next.bytes, is_within(kWide, *next.point) ? 2U : 1U};
}

// The bytes of the longest beginning that takes no more than `columns`.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0, taken = 0;
  while (bytes < text.size()) {
    const Character next = first_character(text.substr(bytes));
    if (taken + next.columns > columns) break;
    taken += next.columns;
    bytes += next.bytes;
  }
  return bytes;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::size_t room = columns - std::min(columns, columns_of(mark));
  return std::string(text.substr(0, bytes_within(text, room))) +
         std::string(mark.substr(0, bytes_within(mark, columns)));
}

std::vector<std::string> wrap_words(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& word : split(text, ' ')) {
    const bool fits = !lines.empty() && columns_of(lines.back()) + 1 + columns_of(word) <= columns;
    if (fits)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

}  // namespace starling::daemon
