#include "base/utf8.h"
#include "daemon/cli/offline/commands.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/status_json.h"
#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"
#include "daemon/setup/sites.h"
#include "models/data/csv.h"
#include "models/data/csv_layout.h"
#include "models/data/csv_profile.h"
#include "models/data/load.h"
#include "models/data/row_match.h"
#include "models/data/table_schema.h"
#include "models/trial_fit.h"

namespace starling::daemon {
namespace {

using models::ColumnProfile;
using models::Content;
using ordered = nlohmann::ordered_json;

constexpr std::size_t kWordsShown = 3;
// Of a wide table the first columns are shown, and further ones that are not only numbers.
constexpr std::size_t kColumnsFirst = 20, kColumnsShown = 60;

// All that is known of a table.
struct Look {
  models::DataOptions options;
  models::TableProfile profile;
  models::CsvDecision decision;
  std::optional<models::Survey> survey;  // what a node would tell; none for a table that is refused
  std::vector<std::string> site_notes = {};  // of all files, where each site has its own
  std::size_t survey_bytes = 0;              // of what every other node learns
  bool shows_all = false;                    // columns
};

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text).flush()) return fail("{}: cannot be written", path);
  fmt::print(stderr, "wrote {}\n", path);
  return {};
}

// Compares the file as it is with the schema.
Result<void> write_dictionary(const std::string& path, models::DataOptions options) {
  if (!options.schema)
    return fail("--write-dictionary compares with a schema: expected --data.schema=FILE");
  const auto schema = std::exchange(options.schema, nullptr);
  options.dictionary_path.clear();
  TRY(const std::string text, models::read_table_text(options, options.path));
  TRY(const models::TableProfile profile, models::profile_csv(options, options.path, text));
  return write_file(path, models::proposed_dictionary(*schema, profile));
}

Result<Look> look(const CommandLine& line) {
  CommandLine given = line;
  given.keys.emplace_back("data.source", "csv");
  if (!line.positional.empty()) given.keys.emplace_back("data.path", line.positional[0]);
  TRY(const Settings settings, load_settings(schema(), line.value("config"), given.keys));
  Reader reader(settings);
  Look look;
  look.shows_all = line.has("all");
  look.options = models::read_data_options(reader);
  models::LearnerOptions learner{models::read_model_options(reader), look.options, {}};
  TRY_DO(reader.verdict());
  if (has_sites(look.options)) {
    const std::size_t count = count_sites(look.options);
    if (count == 0)
      return fail("{}: there is no {}; {{i}} stands for 0, 1, ...", look.options.path,
                  site_options(look.options, 0).path);
    TRY(const Sites sites, look_at_sites(look.options, count));
    look.site_notes = sites.notes;
    look.site_notes.insert(look.site_notes.begin(),
                           fmt::format("{} files {}", count, sites.description));
    look.options = learner.data = site_options(look.options, 0);
  }
  if (const auto path = line.value("write-dictionary"))
    TRY_DO(write_dictionary(*path, look.options));
  TRY(const std::string text, models::read_table_text(look.options, look.options.path));
  TRY(look.profile, models::profile_csv(look.options, look.options.path, text));
  look.decision = models::decide_layout(look.profile, look.options);
  if (!look.decision.refusals.empty()) return look;
  TRY(models::Data loaded, models::load(look.options));
  const auto data = std::make_shared<const models::Data>(std::move(loaded));
  std::vector<std::uint32_t> rows(data->train.rows);
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = static_cast<std::uint32_t>(r);
  look.survey =
      models::make_survey(data->train, rows, look.options.hash_bits, look.options.suppress_below,
                          look.options.target_scale == models::TargetScale::log);
  look.survey->dealt = models::dealt_file(*data, look.options);
  look.survey_bytes = look.options.split == models::Split::columns
                          ? encode(models::site_rows(data->train, "", "")).size()
                          : encode(*look.survey).size();
  look.decision.notes = data->notes;
  if (std::string kind = models::explain_kind(learner, data->train); !kind.empty()) {
    const std::string trial = models::trial_fits(std::move(learner), data);
    look.decision.notes.push_back(kind + (trial.empty() ? "" : "; " + trial));
  }
  if (auto fits = models::check_size(*look.survey); !fits)
    look.decision.refusals.push_back(fits.error().text);
  return look;
}

// "feature", "target" or "left out"
std::string role(const Look& look, const ColumnProfile& column) {
  if (column.name == look.options.target)
    return look.decision.layout.classifies ? "target, classes" : "target, amounts";
  const auto& columns = look.decision.layout.columns;
  const auto found = std::ranges::find(columns, column.name, &models::TableLayout::Column::name);
  if (found == columns.end()) return "left out";
  return std::string(found->form.kind->name());
}

// "18 to 80, mean 49.1", or "3 words: nurse, clerk, smith"
std::string holds(const ColumnProfile& column) {
  if (column.present() == 0) return "";
  if (column.words.count == 0)
    return fmt::format("{} to {}, mean {}{}", column.form.kind->show(column.least),
                       column.form.kind->show(column.most),
                       column.form.kind->show(column.moments.mean),
                       column.form.unit.empty() ? "" : " " + column.form.unit);
  std::vector<std::string> words(column.values.begin(), column.values.end());
  std::ranges::sort(words);
  const bool more = words.size() > kWordsShown;
  const std::size_t count = words.size();
  words.resize(std::min(count, kWordsShown));
  for (std::string& word : words) word = printable(word.substr(0, 20));
  return fmt::format("{}{} word{}: {}{}", count > 10'000 ? "over " : "", with_commas(count),
                     count == 1 ? "" : "s", fmt::join(words, ", "), more ? ", ..." : "");
}

// The same of a table with other columns than those of other sites.
std::vector<std::string> travels_of_columns(const Look& look) {
  const models::DataOptions& options = look.options;
  std::vector<std::string> lines{fmt::format(
      "a hash of each {}, salted with data.seed: who can guess one can tell whether it is here",
      options.key)};
  if (look.decision.layout.target.empty()) return lines;
  lines.push_back(look.survey->classifies ? fmt::format("the names of the classes: {}",
                                                        fmt::join(look.survey->classes, ", "))
                                          : fmt::format("that {} holds amounts", options.target));
  lines.push_back(
      fmt::format("a hash of the {} of every eight rows or so together", options.target));
  return lines;
}

// What leaves the node before training, a sentence each.
std::vector<std::string> travels(const Look& look) {
  if (look.options.split == models::Split::columns) return travels_of_columns(look);
  std::vector<std::string> numbers, words, lines;
  for (const models::ColumnSurvey& column : look.survey->columns) {
    if (column.content == Content::numbers) numbers.push_back(column.name);
    if (column.content == Content::words)
      words.push_back(fmt::format("{} ({})", column.name, with_commas(column.words.size())));
  }
  lines.push_back("the names of all columns that are used");
  if (look.survey->dealt)
    lines.push_back("the number of rows and a hash of all of them, the same at all nodes");
  if (!numbers.empty())
    lines.push_back(fmt::format("count, mean and sum of squares of {}", fmt::join(numbers, ", ")));
  if (!look.survey->missing.empty())
    lines.push_back(fmt::format("the words that stand for a missing number: {}",
                                fmt::join(look.survey->missing, ", ")));
  if (!words.empty() && look.options.hash_bits == 0)
    lines.push_back(
        fmt::format("every different word of {}; data.words = hash:BITS keeps them here",
                    fmt::join(words, ", ")));
  if (!words.empty() && look.options.hash_bits > 0)
    lines.push_back(fmt::format("no word: they become one of {} features by their hash",
                                1U << look.options.hash_bits));
  if (look.survey->classifies)
    lines.push_back(fmt::format("the names of the classes, and how many rows each has: {}",
                                fmt::join(look.survey->classes, ", ")));
  else
    lines.push_back(fmt::format("count, mean and sum of squares of {}", look.survey->target));
  lines.emplace_back(
      "with model.l2 = auto: how much more rows lose that short fits leave out, for each of five "
      "strengths one sum over all rows");
  return lines;
}

// Of a wide table.
bool is_shown(const Look& look, std::size_t index, std::size_t shown) {
  if (look.profile.columns.size() <= kColumnsShown || index < kColumnsFirst) return true;
  const ColumnProfile& column = look.profile.columns[index];
  const bool is_notable = column.missing.count > 0 || column.words.count > 0 ||
                          column.name == look.options.target ||
                          column.form.kind->name() != "number";
  return is_notable && (shown < kColumnsShown || column.name == look.options.target);
}

std::string text_of(const Look& look) {
  std::string text = fmt::format("{}: {} rows, {} columns, separated by {}\n\n", look.profile.path,
                                 with_commas(look.profile.rows), look.profile.columns.size(),
                                 look.profile.separator == ','   ? "commas"
                                 : look.profile.separator == ';' ? "semicolons"
                                                                 : "tabs");
  Table table({"column", "taken for", ">missing", "holds"});
  std::size_t shown = 0;
  for (std::size_t c = 0; c < look.profile.columns.size(); ++c) {
    const ColumnProfile& column = look.profile.columns[c];
    if (!look.shows_all && !is_shown(look, c, shown)) continue;
    ++shown;
    table.add({printable(column.name), role(look, column), with_commas(column.missing.count),
               holds(column)});
  }
  text += table.text();
  if (shown < look.profile.columns.size())
    text += fmt::format("{} more columns of numbers; --all shows them\n",
                        with_commas(look.profile.columns.size() - shown));
  const auto list = [&](std::string_view title, const std::vector<std::string>& lines) {
    if (!lines.empty()) text += fmt::format("\n{}\n", title);
    for (const std::string& line : lines) text += fmt::format("- {}\n", printable(line));
  };
  list("What becomes of it:", look.decision.notes);
  list("All sites together:", look.site_notes);
  list("It cannot be trained on as it is:", look.decision.refusals);
  if (look.survey) {
    list(fmt::format("Before training every node learns of these rows ({} bytes):",
                     with_commas(look.survey_bytes)),
         travels(look));
    text +=
        look.options.split == models::Split::columns
            ? "Then one number a row and class travels, the slope of its loss: every site learns "
              "it of the rows in common, and with it their target, nearly or wholly "
              "(docs/columns.md).\n"
            : "Then only parameters travel. They depend on the rows: who sees many of them may "
              "infer something of a row.\n";
  }
  return text;
}

ordered json_of(const Look& look) {
  ordered document = {{"path", look.profile.path},
                      {"rows", look.profile.rows},
                      {"separator", std::string(1, look.profile.separator)}};
  for (const ColumnProfile& column : look.profile.columns)
    document["columns"].push_back({{"name", column.name},
                                   {"taken_for", role(look, column)},
                                   {"missing", column.missing.count},
                                   {"numbers", column.numbers.count},
                                   {"words", column.words.count},
                                   {"holds", holds(column)}});
  document["notes"] = look.decision.notes;
  document["sites"] = look.site_notes;
  document["refusals"] = look.decision.refusals;
  if (look.survey) {
    document["classes"] = look.survey->classes;
    document["travels"] = travels(look);
    document["travels_bytes"] = look.survey_bytes;
  }
  return document;
}

Outcome<int> run_data(const CommandLine& line) {
  TRY(const Look found, look(line));
  if (const auto path = line.value("write-schema"))
    TRY_DO(write_file(*path, schema_text(found.profile, found.decision)));
  fmt::print("{}", line.has("json") ? to_text(json_of(found)) + "\n" : text_of(found));
  return found.decision.refusals.empty() ? kExitDone : kExitWrongUsage;
}

constexpr auto kDataOptions =
    join({{"config,c", "FILE", "configuration, INI"},
          {"data.target", "COLUMN", "the column that is predicted"},
          {"data.ignore", "A,B", "columns that are left out"},
          {"all", "", "show all columns of a wide table"},
          {"write-schema", "FILE", "write what the columns are called"},
          {"write-dictionary", "FILE", "write how this table differs from data.schema"}},
         kPrintingJson);
constexpr std::string_view kDataArguments[] = {"FILE.csv"};

}  // namespace

constinit const ProgramCommand kData = {
    .name = "data",
    .summary = "what the program makes of a table",
    .usage = "starling data FILE.csv [-c FILE] [--data.KEY=VALUE ...] [--json]",
    .description = R"(Shows what becomes of a table before anything trains: what each column is
taken for, what is missing, which surprises the file holds and what to do about them, and what every
other node would learn of it.)",
    .options = kDataOptions,
    .notes = R"(Example:

  starling data patients.csv --data.target=outcome
  starling data 'site-{i}.csv' --data.target=outcome    all files, as `up` takes them)",
    .exits = "0 it can be trained on, 2 it cannot, or wrong usage.",
    .settings = "data",
    .arguments = kDataArguments,
    .run = run_data};

}  // namespace starling::daemon
