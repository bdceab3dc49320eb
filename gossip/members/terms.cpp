#include "gossip/members/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/ids.h"
#include "base/prng.h"

namespace starling::gossip {
namespace {

constexpr std::size_t kShownBytesLimit = 96;  // the longest value that is sent in full
constexpr std::size_t kNamedLimit = 8;        // differences named in a warning

std::string shown(const std::string& text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.size() <= kShownBytesLimit && std::ranges::none_of(text, is_control)) return text;
  std::size_t size = std::min(text.size(), kShownBytesLimit);
  // Do not cut within a UTF-8 character.
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
    --size;
  std::string kept = text.substr(0, size);
  std::ranges::replace_if(kept, is_control, ' ');
  return fmt::format("{}... (#{:08x})", kept, stable_hash(text) >> 32);
}

// "a, b and c".
std::string enumerate(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k)
    text += (k == 0 ? "" : k + 1 == words.size() ? " and " : ", ") + words[k];
  return text;
}

std::string quoted(const std::string& value) {
  return value.empty() ? "\"\"" : value;
}

const std::string* value_of(const std::vector<Term>& terms, std::string_view key) {
  const auto found = std::ranges::find(terms, key, &Term::first);
  return found == terms.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<Term> agreed(const Options& options) {
  std::vector<Term> terms = exchange_terms(options);
  std::ranges::move(topology::agreed(options.topology), std::back_inserter(terms));
  std::ranges::copy(options.terms, std::back_inserter(terms));
  for (auto& [key, value] : terms) value = shown(value);
  return terms;
}

std::uint64_t agreement_of(const std::vector<Term>& terms) {
  std::uint64_t hash = 0;
  for (const auto& [key, value] : terms)
    hash = mix64(mix64(hash ^ stable_hash(key)) ^ stable_hash(value));
  return hash;
}

std::string difference(const std::vector<Term>& theirs, const std::vector<Term>& own) {
  std::vector<std::string> there, here, unknown;
  for (const auto& [key, value] : own) {
    const std::string* their = value_of(theirs, key);
    if (!their) unknown.push_back("does not say its " + key);
    if (!their || *their == value) continue;
    there.push_back(fmt::format("{}={}", key, quoted(*their)));
    here.push_back(quoted(value));
  }
  for (const auto& [key, value] : theirs)
    if (!value_of(own, key)) unknown.push_back(fmt::format("has {}, and this node has not", key));
  if (there.size() > kNamedLimit) {
    const std::string more = fmt::format("{} more", there.size() - kNamedLimit);
    there.resize(kNamedLimit);
    here.resize(kNamedLimit);
    there.push_back(more);
  }
  if (there.empty()) return "it " + enumerate(unknown);
  return fmt::format("it has {}; this node {}", enumerate(there), enumerate(here));
}

}  // namespace starling::gossip
