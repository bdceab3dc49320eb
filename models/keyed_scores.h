// KeyedScores: what the model of one site's columns says of rows that a key names. The scores of
// all sites for a row, added up, are what the model of all columns says of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/predictor.h"

namespace starling::models {

struct KeyedScores {
  std::string key;   // the column that names a row
  std::string site;  // whose columns they are of
  std::size_t outputs = 1;
  std::vector<std::string> keys = {};  // none twice
  std::vector<double> scores = {};     // row by row, of `outputs` numbers each
  // Of all rows of the site's table, of each output: what a row says of which it knows nothing.
  std::vector<double> mean = {};
};

// Of all rows of the table at `path`, which needs no target. REQUIRES a model of a site's columns.
Result<KeyedScores> score_rows(const Predictor& predictor, DataOptions options,
                               const std::string& path);
// The keys of any table, of one column too: those in the column that options.key names.
Result<std::vector<std::string>> read_keys(const DataOptions& options, const std::string& path);

// As a csv: KEY,SITE of one output, KEY,SITE:1,SITE:2,… of several; numbers read back exactly.
std::string to_csv(const KeyedScores& scores);
// Outside data: the error says the line and what is wrong there.
Result<KeyedScores> read_scores(const std::string& path);

// The scores of those of `keys` that any site knows, of all sites together; where a site does not
// know a row, its columns count as mean ones. `notes` says of how many rows that is, and which of
// `sites` tell nothing.
struct Sum {
  std::vector<std::string> keys = {};
  std::vector<double> scores = {};  // row by row
  std::vector<std::string> notes = {};
};
Result<Sum> add_up(std::span<const KeyedScores> of_sites, std::span<const std::string> keys,
                   std::span<const std::string> sites);

}  // namespace starling::models
