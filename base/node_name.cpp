#include "base/node_name.h"

#include "base/utf8.h"

namespace starling {
namespace {

// Unicode's separators of words (Zs).
bool is_blank(char32_t point) {
  const bool is_width = point >= 0x2000 && point <= 0x200A;
  return point == ' ' || point == 0xA0 || point == 0x1680 || point == 0x202F || point == 0x205F ||
         point == 0x3000 || is_width;
}

bool has_blank_end(std::string_view text) {
  char32_t last = 0;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const Utf8Character next = first_utf8_character(text);
    last = next.point.value_or(0);
    if (is_first && is_blank(last)) return true;
    text.remove_prefix(next.bytes);
  }
  return is_blank(last);
}

}  // namespace

bool is_node_name(std::string_view text) {
  const bool is_path = text.find('/') != std::string_view::npos || text == "." || text == "..";
  return is_plain(text) && is_utf8(text) && !is_path && !has_blank_end(text);
}

}  // namespace starling
