#include "daemon/process/notices.h"

#include <algorithm>

#include "base/text.h"

namespace starling::daemon {

// A word that is a number was measured or counted; one within a word is part of a name or address.
std::string without_measures(std::string_view text) {
  std::string kept;
  for (const std::string& word : split(text, ' ')) {
    const std::size_t begin = std::min(word.find_first_not_of('('), word.size());
    const std::size_t end = std::min(word.find_last_not_of(");,:") + 1, word.size());
    const bool is_number = begin < end && parse_number(word.substr(begin, end - begin));
    kept += is_number ? " #" : " " + word;
  }
  return kept;
}

std::vector<std::string> Notices::take_new(Time now, std::span<const std::string> warnings) {
  std::erase_if(seen_, [now](const auto& item) { return now - item.second > kMemory; });
  std::vector<std::string> fresh;
  for (const std::string& warning : warnings) {
    const auto [item, is_new] = seen_.try_emplace(without_measures(warning), now);
    item->second = now;
    if (is_new && seen_.size() <= kLimit) fresh.push_back(warning);
  }
  return fresh;
}

void Notices::said(Time now, std::string_view warning) {
  if (seen_.size() < kLimit) seen_[without_measures(warning)] = now;
}

}  // namespace starling::daemon
