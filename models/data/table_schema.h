// TableSchema and Dictionary: what all sites of a federation call their columns, and how one site
// writes them. A schema has names, kinds, words and units, and neither rows nor counts; it is sent
// to all sites. A dictionary is a site's own. Both are INI files with a section for each column:
//
//   [sex]                     [sex]
//   kind = words              from = Geschlecht
//   words = F, M              words = w:F, m:M
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/data/cell.h"

namespace starling::models {

struct TableProfile;
struct CsvDecision;

struct SchemaColumn {
  std::string name;
  std::string kind;                     // see column_kinds()
  std::vector<std::string> words = {};  // all of them, of words and booleans; empty: any
  std::string unit = {};
};

struct TableSchema {
  std::string target;                 // one of the columns
  bool classifies = false;            // the target is a class
  std::vector<SchemaColumn> columns;  // of all sites; what a file has beyond them stays there
  std::uint64_t hash = 0;             // of the text: all sites have the same

  const SchemaColumn* find(std::string_view name) const;
};

// How one site writes a column.
struct DictionaryEntry {
  std::string from = {};                          // its name in the file; empty: the same
  std::map<std::string, std::string> words = {};  // the site's word: that of the schema
  double scale = 1;                       // the file's numbers times it are those of the schema
  std::vector<std::string> missing = {};  // further cells that say that the value is missing
};
using Dictionary = std::map<std::string, DictionaryEntry>;  // by the name in the schema

// The errors name the file, the section and the key.
Result<TableSchema> read_schema(const std::string& path);
Result<Dictionary> read_dictionary(const std::string& path);

std::string schema_text(const TableProfile& profile, const CsvDecision& decision);
// A dictionary for a table with this profile, with "?" where only a person knows: such an entry is
// refused when it is read.
std::string proposed_dictionary(const TableSchema& schema, const TableProfile& profile);

}  // namespace starling::models
