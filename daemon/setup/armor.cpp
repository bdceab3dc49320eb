#include "daemon/setup/armor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ranges>
#include <utility>

#include "base/base64url.h"
#include "base/content_hash.h"
#include "base/text.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kSumBytes = 8;

constexpr std::pair<std::string_view, std::string_view> kArmoredKinds[] = {
    {kClusterKeyLabel, "cluster key"},  {kNodeKeyLabel, "node key"},
    {kCertificateLabel, "certificate"}, {kRevocationsLabel, "revocation list"},
    {kTicketLabel, "ticket"},           {kRequestLabel, "request for a ticket"}};

// XXH3, little-endian.
std::array<std::byte, kSumBytes> sum_of(std::span<const std::byte> bytes) {
  const std::uint64_t hash = content_hash(bytes);
  std::array<std::byte, kSumBytes> sum{};
  for (std::size_t i = 0; i < kSumBytes; ++i) sum[i] = static_cast<std::byte>(hash >> (8 * i));
  return sum;
}

bool is_blank(char sign) {
  return sign == ' ' || sign == '\t' || sign == '\r' || sign == '\n';
}

Secret without_blanks(std::string_view text) {
  Secret line(text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_blank)));
  std::ranges::transform(text | std::views::filter([](char sign) { return !is_blank(sign); }),
                         line.bytes().begin(),
                         [](char sign) { return static_cast<std::byte>(sign); });
  return line;
}

}  // namespace

std::string_view label_of(std::string_view text) {
  text = trim(text);
  for (const auto& [label, kind] : kArmoredKinds)
    if (text.starts_with(label) && text.substr(label.size()).starts_with(':')) return label;
  return {};
}

std::string_view kind_of_label(std::string_view label) {
  const auto found =
      std::ranges::find(kArmoredKinds, label, [](const auto& row) { return row.first; });
  return found == std::end(kArmoredKinds) ? "something else" : found->second;
}

Secret armor(std::string_view label, std::span<const std::byte> bytes) {
  Secret all(bytes.size() + kSumBytes);
  std::ranges::copy(bytes, all.bytes().begin());
  std::ranges::copy(sum_of(bytes), all.bytes().last(kSumBytes).begin());
  Secret line(label.size() + 1 + base64url_size(all.size()));
  const std::span<char> text(reinterpret_cast<char*>(line.bytes().data()), line.size());
  std::ranges::copy(label, text.begin());
  text[label.size()] = ':';
  write_base64url(all.bytes(), text.subspan(label.size() + 1));
  return line;
}

Result<Secret> unarmor(std::string_view label, std::string_view text) {
  if (text.size() > kArmorBytesLimit)
    return fail("{} characters; expected at most {}", text.size(), kArmorBytesLimit);
  const std::string_view kind = kind_of_label(label);
  if (const auto seen = label_of(text); !seen.empty() && seen != label)
    return fail("this is a {}; expected a {}", kind_of_label(seen), kind);
  if (label_of(text).empty())
    return fail("expected a {}, a line that begins with {}:", kind, label);
  const Secret line = without_blanks(trim(text).substr(label.size() + 1));
  const auto size = base64url_bytes(line.size());
  const auto damaged =
      fail("this is a {}, and it is cut off or changed; copy the whole line", kind);
  if (!size || *size < kSumBytes) return damaged;
  Secret all(*size);
  if (!read_base64url(line.text(), all.bytes())) return damaged;
  const auto bytes = std::as_const(all).bytes().first(*size - kSumBytes);
  if (!std::ranges::equal(sum_of(bytes), std::as_const(all).bytes().last(kSumBytes)))
    return damaged;
  return copy_secret(bytes);
}

}  // namespace starling::daemon
