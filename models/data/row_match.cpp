#include "models/data/row_match.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/salted_hash.h"
#include "base/text.h"
#include "models/data/survey_words.h"

namespace starling::models {
namespace {

constexpr std::string_view kRowsFormat = "starling-columns-1";
constexpr std::size_t kSitesLimit = 4096;
// Ranges of keys have about so many rows, and one with fewer than the least tells no digest.
constexpr std::size_t kDigestRows = 8, kLeastDigestRows = 4;

// Of `ranges`, a power of two, equal ones of all keys.
std::size_t range_of(std::uint64_t key, std::size_t ranges) {
  return ranges == 1 ? 0 : key >> (64 - std::countr_zero(ranges));
}

std::string target_of(const Dataset& set, std::size_t row) {
  if (set.classes > 0) return set.class_names[static_cast<std::size_t>(set.labels[row])];
  return fmt::to_string(set.targets[row]);
}

std::vector<std::uint64_t> digests_of(const Dataset& set, const std::vector<std::uint64_t>& keys,
                                      std::string_view salt) {
  const std::size_t ranges = std::bit_floor(std::max<std::size_t>(1, set.rows / kDigestRows));
  std::vector<std::uint64_t> sums(ranges), counts(ranges);
  for (std::size_t row = 0; row < set.rows; ++row) {
    const std::size_t range = range_of(keys[row], ranges);
    sums[range] += salted_hash(salt, fmt::format("{:016x} {}", keys[row], target_of(set, row)));
    ++counts[range];
  }
  for (std::size_t range = 0; range < ranges; ++range)
    if (counts[range] < kLeastDigestRows) sums[range] = 0;
  return sums;
}

// The keys in one of so many ranges.
std::span<const std::uint64_t> keys_in(const SiteRows& site, std::size_t range,
                                       std::size_t ranges) {
  const auto part = std::ranges::equal_range(
      site.keys, range, {}, [ranges](std::uint64_t key) { return range_of(key, ranges); });
  return {part.begin(), part.end()};
}

// The digest of a range of a coarser cut; nothing where a finer one has too few rows to tell.
std::optional<std::uint64_t> digest_of(const SiteRows& site, std::size_t range,
                                       std::size_t ranges) {
  const std::size_t finer = site.digests.size() / ranges;
  std::uint64_t sum = 0;
  for (std::size_t part = range * finer; part < (range + 1) * finer; ++part) {
    if (keys_in(site, part, site.digests.size()).size() < kLeastDigestRows) return std::nullopt;
    sum += site.digests[part];
  }
  return sum;
}

bool has_same_targets(const SiteRows& one, const SiteRows& other) {
  if (one.classifies != other.classifies) return false;
  const std::size_t ranges = std::min(one.digests.size(), other.digests.size());
  for (std::size_t range = 0; range < ranges; ++range) {
    if (!std::ranges::equal(keys_in(one, range, ranges), keys_in(other, range, ranges))) continue;
    const auto digest = digest_of(one, range, ranges);
    const auto beside = digest_of(other, range, ranges);
    if (digest && beside && *digest != *beside) return false;
  }
  return true;
}

// The site whose target is learned: of those that have it the first by name.
Result<const SiteRows*> holder_of(std::span<const SiteRows> sites) {
  const SiteRows* holder = nullptr;
  for (const SiteRows& site : sites)
    if (site.has_target && (!holder || natural_less(site.site, holder->site))) holder = &site;
  if (!holder) return fail("no site has the target; expected data.target in the table of one");
  for (const SiteRows& site : sites)
    if (site.has_target && !has_same_targets(*holder, site))
      return fail(
          "the targets of {} and {} differ in rows that both have; expected the same values, or "
          "the target at one of them",
          holder->site, site.site);
  return holder;
}

std::vector<std::uint64_t> keys_in_common(std::span<const SiteRows> sites) {
  std::vector<std::uint64_t> common = sites.front().keys;
  for (const SiteRows& site : sites.subspan(1)) {
    std::vector<std::uint64_t> both;
    std::ranges::set_intersection(common, site.keys, std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

}  // namespace

std::vector<std::uint64_t> hashed_keys(const Dataset& set, std::string_view salt) {
  std::vector<std::uint64_t> keys;
  for (const std::string& key : set.keys) keys.push_back(salted_hash(salt, key));
  return keys;
}

SiteRows site_rows(const Dataset& set, std::string site, std::string_view salt) {
  SiteRows rows{.site = std::move(site), .keys = hashed_keys(set, salt)};
  rows.classifies = set.classes > 0;
  rows.has_target = rows.classifies || !set.targets.empty();
  if (rows.has_target) rows.digests = digests_of(set, rows.keys, salt);
  rows.classes = set.class_names;
  std::ranges::sort(rows.keys);
  return rows;
}

Result<RowMatch> match_rows(std::span<const SiteRows> sites) {
  for (const SiteRows& site : sites)
    if (site.is_matched) return RowMatch{site, {}};
  TRY(const SiteRows* const holder, holder_of(sites));
  RowMatch match;
  match.rows = {.site = holder->site,
                .keys = keys_in_common(sites),
                .has_target = true,
                .classifies = holder->classifies,
                .classes = holder->classes,
                .is_matched = true};
  for (const SiteRows& site : sites) match.rows.sites.push_back(site.site);
  std::ranges::sort(match.rows.sites, natural_less);
  const std::size_t common = match.rows.keys.size();
  std::vector<std::string> counts;
  for (const SiteRows& site : sites)
    counts.push_back(fmt::format("{} has {}", site.site, with_commas(site.keys.size())));
  if (common == 0)
    return fail(
        "no row is at every site: {}, and no key is at all of them; expected data.key = a column "
        "that names the same rows, written alike, at every site, and one data.seed",
        fmt::join(counts, ", "));
  for (const SiteRows& site : sites)
    if (site.keys.size() > common)
      match.notes.push_back(fmt::format(
          "{} of the {} rows of {} are not at every site, and left out",
          with_commas(site.keys.size() - common), with_commas(site.keys.size()), site.site));
  std::ranges::sort(match.notes);
  return match;
}

std::string encode(const SiteRows& rows) {
  SurveyWriter writer;
  writer.put(kRowsFormat);
  writer.put(std::string_view(rows.site));
  for (const bool flag : {rows.is_matched, rows.has_target, rows.classifies})
    writer.put(std::size_t{flag});
  writer.put(rows.classes);
  writer.put(rows.sites);
  writer.put_raw(rows.digests);
  writer.put_raw(rows.keys);
  return writer.finish();
}

Result<SiteRows> decode_site_rows(std::string_view text) {
  SurveyTaker taker(text);
  TRY(const std::string_view format, taker.word());
  if (format != kRowsFormat)
    return fail("a node with data.split = rows is among nodes with data.split = columns");
  SiteRows rows;
  TRY(const std::string_view site, taker.word());
  rows.site = site;
  for (bool* const flag : {&rows.is_matched, &rows.has_target, &rows.classifies}) {
    TRY(const std::size_t found, taker.size(1));
    *flag = found == 1;
  }
  TRY(rows.classes, taker.ascending(kClassesLimit));
  TRY(rows.sites, taker.words(kSitesLimit));
  TRY(rows.digests, taker.raw(kMatchedRowsLimit));
  TRY(rows.keys, taker.raw(kMatchedRowsLimit));
  const bool is_cut = rows.has_target && !rows.is_matched;
  if (!std::ranges::is_sorted(rows.keys, std::ranges::less_equal()) || !taker.at_end() ||
      rows.keys.empty() || (is_cut && !std::has_single_bit(rows.digests.size())) ||
      rows.classifies != (rows.classes.size() > 0))
    return fail("a survey of {} repeats or misorders its keys, or has parts that do not fit",
                site.substr(0, 40));
  return rows;
}

}  // namespace starling::models
