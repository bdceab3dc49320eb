// RowMatch: the rows that sites with other columns have in common, by salted hashes of a key
// column. It is no private set intersection: every member learns which of its own rows another site
// has, and, if it can guess keys, which others too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/dataset.h"

namespace starling::models {

// What a site tells of its rows before the first step, or a fleet of those that it has matched.
struct SiteRows {
  std::string site;                 // once matched: the one whose target is learned
  std::vector<std::uint64_t> keys;  // ascending, none twice
  bool has_target = false;
  bool classifies = false;                // the target is a class
  std::vector<std::string> classes = {};  // ascending
  // Of a target: for each of the equal ranges of keys, a power of two in number, the sum of the
  // hashes of its keys with their targets. Of the same rows they are equal; of one row alone none
  // is told.
  std::vector<std::uint64_t> digests = {};
  bool is_matched = false;
  std::vector<std::string> sites = {};  // once matched: all that were
};

// With which all sites hash their keys.
inline std::string key_salt(const DataOptions& options) {
  return fmt::to_string(options.seed);
}

// Of each row of `set`, a table with keys.
std::vector<std::uint64_t> hashed_keys(const Dataset& set, std::string_view salt);
// The rows of such a set. `salt` hashes its targets.
SiteRows site_rows(const Dataset& set, std::string site, std::string_view salt);

struct RowMatch {
  SiteRows rows;
  // A sentence for each site that has rows beyond those in common.
  std::vector<std::string> notes;
};
// In any order the same. The error says that no site has the target, that targets of the same rows
// differ, or that there are no rows in common.
Result<RowMatch> match_rows(std::span<const SiteRows> sites);

inline constexpr std::size_t kMatchedRowsLimit = 60'000;  // of one site, in a survey

// The text form. decode_site_rows() takes outside data: anything else, or too large, is an error.
std::string encode(const SiteRows& rows);
Result<SiteRows> decode_site_rows(std::string_view text);

}  // namespace starling::models
