#include "daemon/setup/sites.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/csv_profile.h"
#include "models/data/load.h"
#include "models/data/row_match.h"
#include "models/data/survey.h"
#include "models/data/survey_notes.h"

namespace starling::daemon {
namespace {

constexpr std::string_view kIndex = "{i}";
// Above this ratio of rows it matters whether sites or rows weigh the same.
constexpr double kUnequal = 1.1;

std::string_view text_of(models::Weight weight) {
  using enum models::Weight;
  if (weight == samples) return "every row weighs the same (data.weight = samples)";
  if (weight == steps) return "a site weighs by its local steps (data.weight = steps)";
  return "every site weighs the same, whatever its rows; data.weight = samples weighs every row "
         "the "
         "same";
}

std::string numbered(std::string text, std::size_t index) {
  for (std::size_t at = 0; (at = text.find(kIndex, at)) != std::string::npos;)
    text.replace(at, kIndex.size(), std::to_string(index));
  return text;
}

models::Survey survey_of(const models::Data& data, unsigned hash_bits, std::size_t index) {
  std::vector<std::uint32_t> rows(data.train.rows);
  std::iota(rows.begin(), rows.end(), 0U);
  models::Survey survey = models::make_survey(data.train, rows, hash_bits);
  survey.site = fmt::format("node-{}", index);
  return survey;
}

// The classes that a site lacks and others have.
std::vector<std::string> missing_classes(std::size_t index, const models::Survey& site,
                                         const models::Survey& all) {
  std::vector<std::string> notes;
  std::set<std::size_t> found;
  for (const std::string& name : site.classes)
    if (const auto place = models::find_word(all.classes, name)) found.insert(*place);
  for (std::size_t place = 0; place < all.classes.size(); ++place)
    if (!found.contains(place))
      notes.push_back(
          fmt::format("node-{}: no row of class {}, which others have", index, all.classes[place]));
  return notes;
}

Result<Sites> look_at_files(const models::DataOptions& options, std::size_t nodes) {
  Sites sites;
  std::vector<models::Survey> surveys;
  std::vector<std::string> rows;
  std::size_t least = SIZE_MAX, most = 0;
  for (std::size_t index = 0; index < nodes; ++index) {
    const models::DataOptions own = site_options(options, index);
    auto loaded = models::load(own);
    if (!loaded)
      return fail("{} (data.path = \"{}\" for node-{}; numbers begin at 0)", loaded.error().text,
                  options.path, index);
    auto data = std::make_shared<const models::Data>(*std::move(loaded));
    for (const std::string& note : data->notes)
      sites.notes.push_back(fmt::format("node-{}: {}", index, note));
    rows.push_back(with_commas(data->train.rows));
    least = std::min(least, data->train.rows);
    most = std::max(most, data->train.rows);
    if (options.source == models::Source::csv)
      surveys.push_back(survey_of(*data, own.hash_bits, index));
    if (index > 0 && !surveys.empty())
      if (const auto both = models::merge(std::vector{surveys[0], surveys[index]}); !both)
        return fail("{} and {}: {}", site_options(options, 0).path, own.path, both.error().text);
    if (index == 0) sites.first = std::move(data);
  }
  sites.description = fmt::format("from a file each, of {} rows; node-0: {}", fmt::join(rows, ", "),
                                  sites.first->description);
  if (static_cast<double>(most) > kUnequal * static_cast<double>(least))
    sites.notes.emplace_back(text_of(options.weight));
  if (surveys.empty()) return sites;
  TRY(const models::Survey all, models::merge(surveys));
  std::ranges::move(models::differences(surveys), std::back_inserter(sites.notes));
  for (std::size_t index = 0; index < nodes; ++index)
    std::ranges::move(missing_classes(index, surveys[index], all), std::back_inserter(sites.notes));
  return sites;
}

// Names of columns that hold a different word or number in each of many rows.
std::set<std::string> naming_columns(const models::TableProfile& profile) {
  constexpr std::size_t kRowsLeast = 10;
  std::set<std::string> names;
  for (const models::ColumnProfile& column : profile.columns)
    if (profile.rows >= kRowsLeast && column.missing.count == 0 &&
        column.values.size() >= std::min(profile.rows, models::kWordsLimit))
      names.insert(column.name);
  return names;
}

// Where the files share one column, which names their rows, and no other but the target: what to
// set. Else empty.
std::string hint_of_columns(const models::DataOptions& options, std::size_t nodes) {
  if (options.source != models::Source::csv || nodes < 2) return {};
  std::map<std::string, std::size_t> files;  // that have the column
  std::set<std::string> naming;
  for (std::size_t index = 0; index < nodes; ++index) {
    const models::DataOptions own = site_options(options, index);
    const auto text = models::read_table_text(own, own.path);
    if (!text) return {};
    const auto profile = models::profile_csv(own, own.path, *text);
    if (!profile) return {};
    for (const models::ColumnProfile& column : profile->columns) ++files[column.name];
    if (index == 0) naming = naming_columns(*profile);
  }
  files.erase(options.target);
  std::string key;
  for (const auto& [name, count] : files)
    if (count > 1) {
      if (!key.empty() || count < nodes || !naming.contains(name)) return {};
      key = name;
    }
  if (key.empty()) return {};
  return fmt::format(
      "\nthe files share {}, which names their rows, and no other column but the target: "
      "--data.split=columns --data.key={} learns from the columns of all",
      key, key);
}

// Of tables with other columns of the same rows.
Result<Sites> look_at_columns(const models::DataOptions& options, std::size_t nodes) {
  if (!has_sites(options))
    return fail(
        "data.path = \"{}\": with data.split = columns each node has a file of its own; expected "
        "one with {{i}}, which is the number of the node",
        options.path);
  Sites sites;
  std::vector<models::SiteRows> tables;
  std::vector<std::string> columns;
  for (std::size_t index = 0; index < nodes; ++index) {
    const models::DataOptions own = site_options(options, index);
    TRY(auto loaded, models::load(own));
    auto data = std::make_shared<const models::Data>(std::move(loaded));
    for (const std::string& note : data->notes)
      sites.notes.push_back(fmt::format("node-{}: {}", index, note));
    columns.push_back(fmt::format("{}", data->train.columns));
    tables.push_back(
        models::site_rows(data->train, fmt::format("node-{}", index), models::key_salt(own)));
    if (index == 0 || data->train.has_truth()) sites.first = std::move(data);
  }
  TRY(const models::RowMatch match, models::match_rows(tables));
  std::ranges::copy(match.notes, std::back_inserter(sites.notes));
  sites.description = fmt::format(
      "from a file each, of {} columns; {} rows are in common by {}, {} has the target",
      fmt::join(columns, ", "), with_commas(match.rows.keys.size()), options.key, match.rows.site);
  return sites;
}

}  // namespace

bool has_sites(const models::DataOptions& options) {
  return options.path.find(kIndex) != std::string::npos;
}

std::size_t count_sites(const models::DataOptions& options) {
  std::size_t count = 0;
  while (std::filesystem::exists(site_options(options, count).path)) ++count;
  return count;
}

models::DataOptions site_options(models::DataOptions options, std::size_t index) {
  options.path = numbered(std::move(options.path), index);
  options.test_path = numbered(std::move(options.test_path), index);
  options.dictionary_path = numbered(std::move(options.dictionary_path), index);
  return options;
}

Result<Sites> look_at_sites(const models::DataOptions& options, std::size_t nodes) {
  if (options.split == models::Split::columns) return look_at_columns(options, nodes);
  if (has_sites(options)) {
    auto sites = look_at_files(options, nodes);
    if (sites) return sites;
    return fail("{}{}", sites.error().text, hint_of_columns(options, nodes));
  }
  TRY(auto loaded, models::load(options));
  auto data = std::make_shared<const models::Data>(std::move(loaded));
  return Sites{data->description, data->notes, data};
}

}  // namespace starling::daemon
