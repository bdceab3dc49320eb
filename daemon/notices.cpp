#include "daemon/notices.h"

#include <algorithm>

namespace starling::daemon {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Without numbers that have a fraction or an exponent: they are measured. Whole numbers name nodes,
// ports and counts.
std::string without_measures(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.' || text[end] == '+' ||
                                 (text[end] == 'e' && end > i)))
      ++end;
    const std::string_view word = text.substr(i, end - i);
    const bool is_measure = word.size() > 1 && is_digit(word[0]) &&
                            (std::ranges::count(word, '.') == 1 || word.find('e') != word.npos);
    const std::size_t size = std::max<std::size_t>(word.size(), 1);
    if (!is_measure) kept += text.substr(i, size);
    i += size;
  }
  return kept;
}

}  // namespace

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
