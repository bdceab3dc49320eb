#include "models/keyed_scores.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/csv_reader.h"
#include "models/data/gz_file.h"

namespace starling::models {
namespace {

constexpr std::size_t kScoreColumnsLimit = 1001;  // of kClassesLimit classes, and the key

// "node-1", or "node-1:2".
Result<std::string> site_of(const std::vector<Cell>& header, const std::string& path) {
  std::string site = header.size() < 2 ? "" : header[1].text.substr(0, header[1].text.find(':'));
  for (std::size_t k = 1; k < header.size(); ++k)
    if (const std::string expected = header.size() == 2 ? site : fmt::format("{}:{}", site, k);
        header[k].text != expected || site.empty())
      site.clear();
  if (site.empty() || header.size() > kScoreColumnsLimit)
    return fail(
        "{}: line 1 is \"{}\"; expected KEY,SITE or KEY,SITE:1,SITE:2,... as starling predict "
        "--partial writes it",
        path, header.empty() ? "" : header[0].text.substr(0, 40));
  return site;
}

std::vector<double> mean_of(const KeyedScores& scores) {
  std::vector<double> mean(scores.outputs);
  for (std::size_t k = 0; k < scores.scores.size(); ++k)
    mean[k % scores.outputs] += scores.scores[k] / static_cast<double>(scores.keys.size());
  return mean;
}

using Places = std::unordered_map<std::string_view, std::size_t>;

Places places_in(const KeyedScores& scores) {
  Places places;
  for (std::size_t row = 0; row < scores.keys.size(); ++row) places.emplace(scores.keys[row], row);
  return places;
}

// Whether they are of one model.
Result<void> check_alike(std::span<const KeyedScores> of_sites) {
  const KeyedScores& first = of_sites.front();
  std::set<std::string> told;
  for (const KeyedScores& one : of_sites) {
    if (!told.insert(one.site).second)
      return fail("the scores of {} are given twice, and count once", one.site);
    if (one.outputs != first.outputs || one.key != first.key)
      return fail("the scores of {} are {} a row by {}, and those of {} {} by {}: of two models",
                  one.site, one.outputs, one.key, first.site, first.outputs, first.key);
  }
  return {};
}

}  // namespace

Result<KeyedScores> score_rows(const Predictor& predictor, DataOptions options,
                               const std::string& path) {
  const ColumnPart& part = *predictor.card().part;
  TableLayout layout = predictor.layout(false);
  layout.key = part.key;
  options.missing = Missing::impute;
  options.missing_words = layout.missing_cells;
  TRY(layout, as_written(std::move(layout), options, path));
  TableBuilder builder(std::move(layout));
  Dataset rows;
  TRY(const auto notes, read_rows(options, path, builder, rows));
  if (rows.rows == 0) return fail("{}: no row with a key", path);
  builder.finish(rows);
  TRY(Predictor::Outputs outputs, predictor.outputs(rows));
  KeyedScores scores{.key = part.key,
                     .site = part.site,
                     .outputs = predictor.card().shape.outputs(),
                     .keys = std::move(rows.keys),
                     .scores = std::move(outputs.numbers)};
  scores.mean = mean_of(scores);
  return scores;
}

Result<std::vector<std::string>> read_keys(const DataOptions& options, const std::string& path) {
  TRY(const std::string text, read_table_text(options, path));
  CsvReader reader(path, text, options.separator == 0 ? find_separator(text) : options.separator);
  std::vector<Cell> fields;
  TRY(const bool has_header, reader.next(fields));
  const auto at = std::ranges::find(fields, options.key, &Cell::text);
  if (!has_header || at == fields.end())
    return fail("{}: line 1 names no column {}, which is the key of the fleet (data.key)", path,
                options.key);
  const auto place = static_cast<std::size_t>(at - fields.begin());
  std::vector<std::string> keys;
  std::unordered_set<std::string> known;
  while (true) {
    TRY(const bool any, reader.next(fields));
    if (!any) break;
    if (place >= fields.size() || fields[place].text.empty())
      return fail("{}: line {} has no {}", path, reader.line(), options.key);
    if (!known.insert(fields[place].text).second)
      return fail("{}: line {} repeats the key \"{}\"", path, reader.line(),
                  fields[place].text.substr(0, 40));
    keys.push_back(fields[place].text);
  }
  if (keys.empty()) return fail("{}: no rows", path);
  return keys;
}

std::string to_csv(const KeyedScores& scores) {
  std::string text = csv_field(scores.key);
  for (std::size_t k = 0; k < scores.outputs; ++k)
    text += scores.outputs == 1 ? fmt::format(",{}", scores.site)
                                : fmt::format(",{}:{}", scores.site, k + 1);
  text += "\n";
  for (std::size_t row = 0; row < scores.keys.size(); ++row) {
    text += csv_field(scores.keys[row]);
    for (std::size_t k = 0; k < scores.outputs; ++k)
      text += fmt::format(",{}", scores.scores[row * scores.outputs + k]);
    text += "\n";
  }
  return text;
}

Result<KeyedScores> read_scores(const std::string& path) {
  TRY(const std::string text, read_text(path));
  CsvReader reader(path, text);
  std::vector<Cell> fields;
  TRY(const bool has_header, reader.next(fields));
  KeyedScores scores;
  TRY(scores.site, site_of(has_header ? fields : std::vector<Cell>{}, path));
  scores.key = fields[0].text;
  scores.outputs = fields.size() - 1;
  std::unordered_set<std::string> known;
  while (true) {
    TRY(const bool any, reader.next(fields));
    if (!any) break;
    if (fields.size() != scores.outputs + 1)
      return fail("{}: line {} has {} fields, expected {}", path, reader.line(), fields.size(),
                  scores.outputs + 1);
    if (!known.insert(fields[0].text).second)
      return fail("{}: line {} repeats the key \"{}\"", path, reader.line(),
                  fields[0].text.substr(0, 40));
    scores.keys.push_back(fields[0].text);
    for (std::size_t k = 1; k < fields.size(); ++k) {
      const auto number = parse_number(fields[k].text);
      if (!number)
        return fail("{}: line {} holds \"{}\", expected a finite number", path, reader.line(),
                    fields[k].text.substr(0, 40));
      scores.scores.push_back(*number);
    }
  }
  if (scores.keys.empty()) return fail("{}: no rows", path);
  scores.mean = mean_of(scores);
  return scores;
}

Result<Sum> add_up(std::span<const KeyedScores> of_sites, std::span<const std::string> keys,
                   std::span<const std::string> sites) {
  Sum sum;
  TRY_DO(check_alike(of_sites));
  std::vector<Places> places;
  for (const KeyedScores& one : of_sites) places.push_back(places_in(one));
  for (const std::string& key : keys)
    if (std::ranges::any_of(places, [&](const Places& one) { return one.contains(key); }))
      sum.keys.push_back(key);
  if (const std::size_t unknown = keys.size() - sum.keys.size(); unknown > 0)
    sum.notes.push_back(fmt::format("{} of {} rows are at no site, and left out",
                                    with_commas(unknown), with_commas(keys.size())));
  const std::size_t outputs = of_sites.front().outputs;
  sum.scores.resize(sum.keys.size() * outputs);
  for (std::size_t site = 0; site < of_sites.size(); ++site) {
    const KeyedScores& one = of_sites[site];
    std::size_t lacking = 0;
    for (std::size_t row = 0; row < sum.keys.size(); ++row) {
      const auto found = places[site].find(sum.keys[row]);
      const bool is_known = found != places[site].end();
      lacking += !is_known;
      const double* const of_row = is_known ? &one.scores[found->second * outputs] : &one.mean[0];
      for (std::size_t k = 0; k < outputs; ++k) sum.scores[row * outputs + k] += of_row[k];
    }
    if (lacking > 0)
      sum.notes.push_back(fmt::format("{} of {} rows are not at {}: its columns count as mean ones",
                                      with_commas(lacking), with_commas(sum.keys.size()),
                                      one.site));
  }
  for (const std::string& site : sites)
    if (std::ranges::find(of_sites, site, &KeyedScores::site) == of_sites.end())
      sum.notes.push_back(fmt::format("{} tells no scores: its columns count as mean ones", site));
  return sum;
}

}  // namespace starling::models
