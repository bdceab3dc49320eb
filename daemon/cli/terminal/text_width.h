// The columns that a text takes on a terminal, and cutting and wrapping it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace starling::daemon {

// Of UTF-8: one column a character, two for one of East Asia or a pictograph, none for a combining
// mark and for the escape sequences that set colours. Every byte that is not UTF-8 takes a column.
std::size_t columns_of(std::string_view text);

// The text itself if it fits, else its beginning and `mark`. REQUIRES no escape sequence within.
std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark);

// The words of the text in lines of at most `columns` each; a longer word has a line of its own.
std::vector<std::string> wrap_words(std::string_view text, std::size_t columns);

}  // namespace starling::daemon
