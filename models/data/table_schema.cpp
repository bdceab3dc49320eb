#include "models/data/table_schema.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/ids.h"
#include "base/ini.h"
#include "base/text.h"
#include "models/data/columns/truth.h"
#include "models/data/csv.h"
#include "models/data/csv_layout.h"
#include "models/data/csv_profile.h"
#include "models/data/gz_file.h"

namespace starling::models {
namespace {

constexpr std::string_view kTable = "table";  // the section of the whole table
constexpr std::string_view kUnknown = "?";
// A column with more words, such as codes, is open: other sites have others.
constexpr std::size_t kSchemaWords = 20;

struct Entry {
  std::string section, key, value;
};

// Of an INI file whose sections may have points in their names.
Result<std::vector<Entry>> read_entries(const std::string& path) {
  TRY(const std::string text, read_text(path));
  std::vector<std::string> mistakes;
  std::vector<Entry> entries;
  for (const IniEntry& entry : parse_ini(path, text, mistakes)) {
    const std::size_t point = entry.name.rfind('.');
    if (point == std::string::npos)
      return fail("{}: {} stands in no section, expected [COLUMN] above it", path, entry.name);
    entries.push_back(
        {entry.name.substr(0, point), entry.name.substr(point + 1), entry.values.back()});
  }
  if (!mistakes.empty()) return fail("{}", mistakes.front());
  return entries;
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string& item : split(text, ','))
    if (const std::string_view word = trim(item); !word.empty()) items.emplace_back(word);
  return items;
}

tl::unexpected<Error> unknown_key(const std::string& path, const Entry& entry,
                                  std::string_view expected) {
  return fail("{}: [{}] has a key {}, expected {}", path, entry.section, entry.key, expected);
}

// "w:F, m:M"
Result<std::map<std::string, std::string>> pairs_of(const std::string& path, const Entry& entry) {
  std::map<std::string, std::string> pairs;
  for (const std::string& item : list_of(entry.value)) {
    const std::size_t colon = item.rfind(':');
    if (colon == std::string::npos)
      return fail("{}: [{}] words = {}: expected HERE:SCHEMA pairs, such as w:F, m:M", path,
                  entry.section, item);
    pairs[std::string(trim(item.substr(0, colon)))] = trim(item.substr(colon + 1));
  }
  return pairs;
}

Result<void> take(const std::string& path, const Entry& entry, DictionaryEntry& column) {
  const std::size_t colon = entry.value.find(":?");
  if (entry.value == kUnknown || colon != std::string::npos)
    return fail("{}: [{}] {} = {}: complete it where a ? stands", path, entry.section, entry.key,
                entry.value);
  if (entry.key == "from") {
    column.from = entry.value;
  } else if (entry.key == "words") {
    TRY(column.words, pairs_of(path, entry));
  } else if (entry.key == "missing") {
    column.missing = list_of(entry.value);
  } else if (entry.key == "scale") {
    const auto scale = parse_number(entry.value);
    if (!scale || *scale == 0)
      return fail("{}: [{}] scale = {}: expected a number other than 0", path, entry.section,
                  entry.value);
    column.scale = *scale;
  } else {
    return unknown_key(path, entry, "from, words, scale or missing");
  }
  return {};
}

// In INI a comment begins with #, and a comma separates words.
bool can_be_listed(const std::string& word) {
  return !word.empty() && word.find_first_of(",:#;\n\r[]") == std::string::npos;
}

std::vector<std::string> words_of(const ColumnProfile& column) {
  std::set<std::string> words(column.values.begin(), column.values.end());
  if (words.size() > kSchemaWords || !std::ranges::all_of(words, can_be_listed)) return {};
  return {words.begin(), words.end()};
}

// The column of the file that is most likely this one of the schema.
const ColumnProfile* likely(const SchemaColumn& wanted, const TableSchema& schema,
                            const TableProfile& profile) {
  if (const ColumnProfile* const same = profile.find(wanted.name)) return same;
  const ColumnProfile* best = nullptr;
  std::size_t most = 0;
  for (const ColumnProfile& column : profile.columns) {
    if (schema.find(column.name) || column.form.kind->name() != wanted.kind) continue;
    if (folded(column.name) == folded(wanted.name)) return &column;
    const auto known = static_cast<std::size_t>(std::ranges::count_if(
        wanted.words, [&](const auto& w) { return column.values.contains(w); }));
    if (known > most) most = known, best = &column;
  }
  return best;
}

// "w:F, m:?" for the words of the file that the schema has not.
std::string word_pairs(const SchemaColumn& wanted, const ColumnProfile& column) {
  std::vector<std::string> pairs;
  if (wanted.words.empty() || column.form.has_numbers()) return {};
  for (const std::string& word : words_of(column)) {
    const auto is_same = [&](const std::string& one) {
      return folded(one) == folded(word) || (truth_of(one) && truth_of(one) == truth_of(word));
    };
    const auto found = std::ranges::find_if(wanted.words, is_same);
    if (found != wanted.words.end() && *found == word) continue;
    pairs.push_back(
        fmt::format("{}:{}", word, found == wanted.words.end() ? std::string(kUnknown) : *found));
  }
  return fmt::format("{}", fmt::join(pairs, ", "));
}

// Empty: the file writes the column as the schema does.
std::string proposed_section(const SchemaColumn& wanted, const ColumnProfile& found) {
  std::string text;
  if (found.name != wanted.name) text += fmt::format("from = {}\n", found.name);
  if (const std::string pairs = word_pairs(wanted, found); !pairs.empty())
    text += fmt::format("words = {}\n", pairs);
  if (!found.form.unit.empty() && found.form.unit != wanted.unit)
    text += fmt::format("# {} here, {} in the schema\nscale = ?\n", found.form.unit,
                        wanted.unit.empty() ? "no unit" : wanted.unit);
  if (const auto lone = lone_number(found)) text += fmt::format("missing = {:.10g}\n", lone->value);
  return text;
}

}  // namespace

const SchemaColumn* TableSchema::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &SchemaColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

Result<TableSchema> read_schema(const std::string& path) {
  TRY(const std::vector<Entry> entries, read_entries(path));
  TableSchema schema;
  TRY(const std::string text, read_text(path));
  schema.hash = stable_hash(text);
  for (const Entry& entry : entries) {
    if (entry.section == kTable) {
      if (entry.key == "target")
        schema.target = entry.value;
      else if (entry.key == "task")
        schema.classifies = entry.value == "classification";
      else
        return unknown_key(path, entry, "target or task");
      continue;
    }
    auto column = std::ranges::find(schema.columns, entry.section, &SchemaColumn::name);
    if (column == schema.columns.end())
      column = schema.columns.insert(column, SchemaColumn{.name = entry.section, .kind = {}});
    if (entry.key == "kind")
      column->kind = entry.value;
    else if (entry.key == "words")
      column->words = list_of(entry.value);
    else if (entry.key == "unit")
      column->unit = entry.value;
    else
      return unknown_key(path, entry, "kind, words or unit");
    if (entry.key == "kind" && !column_kind_named(entry.value))
      return fail("{}: [{}] kind = {}: expected one of {}", path, entry.section, entry.value,
                  names_of_kinds());
  }
  for (SchemaColumn& column : schema.columns)
    if (column.kind.empty()) return fail("{}: [{}] has no kind", path, column.name);
  if (!schema.find(schema.target))
    return fail("{}: [table] target = \"{}\" is no column of the schema", path, schema.target);
  return schema;
}

Result<Dictionary> read_dictionary(const std::string& path) {
  TRY(const std::vector<Entry> entries, read_entries(path));
  Dictionary dictionary;
  for (const Entry& entry : entries) TRY_DO(take(path, entry, dictionary[entry.section]));
  return dictionary;
}

std::string schema_text(const TableProfile& profile, const CsvDecision& decision) {
  std::string text = fmt::format(
      "# What all sites call their columns: names, kinds, words and units; neither rows nor "
      "counts.\n"
      "[table]\ntarget = {}\ntask = {}\n",
      decision.layout.target, decision.layout.classifies ? "classification" : "regression");
  const auto write = [&](const ColumnProfile& column) {
    text += fmt::format("\n[{}]\nkind = {}\n", column.name, column.form.kind->name());
    if (!column.form.unit.empty()) text += fmt::format("unit = {}\n", column.form.unit);
    const bool has_words = !column.form.has_numbers() ||
                           (column.name == decision.layout.target && decision.layout.classifies);
    if (const auto words = words_of(column); has_words && !words.empty())
      text += fmt::format("words = {}\n", fmt::join(words, ", "));
  };
  for (const TableLayout::Column& column : decision.layout.columns)
    if (const ColumnProfile* const found = profile.find(column.name)) write(*found);
  if (const ColumnProfile* const found = profile.find(decision.layout.target)) write(*found);
  return text;
}

std::string proposed_dictionary(const TableSchema& schema, const TableProfile& profile) {
  std::string text =
      "# How this site writes the columns of the schema: from (its name here), words "
      "(HERE:SCHEMA),\n"
      "# scale (a number here times it is one of the schema), missing. Complete what has a "
      "\"?\".\n";
  for (const SchemaColumn& wanted : schema.columns) {
    const ColumnProfile* const found = likely(wanted, schema, profile);
    const std::string section =
        found ? proposed_section(wanted, *found) : fmt::format("from = {}\n", kUnknown);
    if (!section.empty()) text += fmt::format("\n[{}]\n{}", wanted.name, section);
  }
  return text;
}

}  // namespace starling::models
