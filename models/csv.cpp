#include "models/csv.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "models/csv_reader.h"
#include "models/gz_file.h"
#include "models/holdout.h"
#include "models/text.h"

namespace starling::models {
namespace {

using Fields = std::vector<std::string>;

struct Header {
  Fields names;
  std::size_t target = 0;
  std::vector<bool> numeric;  // a column that holds only numbers, in all files
};

struct Count {
  std::size_t rows = 0;
  std::size_t dropped = 0;
};

Result<Header> read_header(CsvReader& reader, const std::string& target) {
  Header header;
  TRY(const bool any, reader.next(header.names));
  if (!any) return fail("{}: empty, expected a header", reader.path());
  if (header.names.size() > kTableColumnsLimit)
    return fail("{}: {} columns, expected at most {}", reader.path(), header.names.size(),
                kTableColumnsLimit);
  const std::set<std::string> unique(header.names.begin(), header.names.end());
  if (unique.size() != header.names.size() || unique.contains(""))
    return fail("{}: line {}: the header has an empty or repeated name", reader.path(),
                reader.line());
  const auto found = std::ranges::find(header.names, target);
  if (found == header.names.end())
    return fail("{}: data.target = \"{}\" is no column, expected one of {}", reader.path(), target,
                fmt::join(header.names, ", "));
  if (header.names.size() < 2) return fail("{}: no column beside the target", reader.path());
  header.target = static_cast<std::size_t>(found - header.names.begin());
  header.numeric.assign(header.names.size(), true);
  return header;
}

// Gives every record below the header that has no empty cell to `take`.
Result<Count> for_each_row(const std::string& path, std::string_view text, const Header& header,
                           auto take) {
  CsvReader reader(path, text);
  Fields fields;
  Count count;
  TRY_DO(reader.next(fields));
  if (fields != header.names)
    return fail("{}: its header names other columns than data.path", path);
  while (true) {
    TRY(const bool any, reader.next(fields));
    if (!any) return count;
    if (fields.size() != header.names.size())
      return fail("{}: line {}: {} fields, expected {} as in the header", path, reader.line(),
                  fields.size(), header.names.size());
    if (++count.rows > kRowsLimit) return fail("{}: more than {} rows", path, kRowsLimit);
    if (std::ranges::find(fields, "") != fields.end()) {
      ++count.dropped;
      continue;
    }
    if (const Result<void> taken = take(fields); !taken)
      return fail("{}: line {}: {}", path, reader.line(), taken.error().text);
  }
}

// Collects the rows of the training and the held-out set over one dictionary of words.
class TableBuilder {
 public:
  explicit TableBuilder(const Header& header) : header_(header), codes_(header.names.size()) {}

  Result<void> add(const Fields& fields, Dataset& set, TableFeatures& table) {
    for (std::size_t c = 0; c < fields.size(); ++c) {
      if (header_.numeric[c]) {
        (c == header_.target ? set.targets : table.numbers).push_back(*parse_number(fields[c]));
        continue;
      }
      auto& codes = codes_[c];
      const auto next = static_cast<std::uint32_t>(codes.size());
      const auto [entry, is_new] = codes.emplace(fields[c], next);
      if (fields[c].size() > kWordBytesLimit || codes.size() > kWordsLimit)
        return fail("column {} holds words, expected at most {} different ones of {} bytes",
                    header_.names[c], kWordsLimit, kWordBytesLimit);
      table.codes.push_back(entry->second);
    }
    ++set.rows;
    return {};
  }

  // Names the columns, and turns codes by order of appearance into codes by order of words.
  void finish(Dataset& set, TableFeatures table) const {
    std::vector<std::vector<std::uint32_t>> place;
    for (std::size_t c = 0; c < header_.names.size(); ++c) {
      if (c == header_.target) continue;
      (header_.numeric[c] ? table.number_names : table.word_names).push_back(header_.names[c]);
      if (header_.numeric[c]) continue;
      table.words.emplace_back();
      place.emplace_back(codes_[c].size());
      for (const auto& [word, code] : codes_[c]) {
        place.back()[code] = static_cast<std::uint32_t>(table.words.back().size());
        table.words.back().push_back(word);
      }
    }
    for (std::size_t i = 0; i < table.codes.size(); ++i)
      table.codes[i] = place[i % place.size()][table.codes[i]];
    set.columns = header_.names.size() - 1;
    set.features = std::move(table);
  }

 private:
  const Header& header_;
  std::vector<std::map<std::string, std::uint32_t>> codes_;  // in columns of words
};

Result<void> find_types(const std::string& path, std::string_view text, Header& header) {
  TRY_DO(for_each_row(path, text, header, [&](const Fields& fields) -> Result<void> {
    for (std::size_t c = 0; c < fields.size(); ++c)
      if (header.numeric[c] && !parse_number(fields[c])) header.numeric[c] = false;
    if (!header.numeric[header.target])
      return fail("target \"{}\", expected a finite number", fields[header.target]);
    return {};
  }));
  return {};
}

}  // namespace

Result<Data> read_csv(const DataOptions& options) {
  const bool has_test = !options.test_path.empty();
  TRY(const std::string text, read_text(options.path));
  TRY(const std::string test_text, has_test ? read_text(options.test_path) : std::string());
  CsvReader reader(options.path, text);
  TRY(Header header, read_header(reader, options.target));
  TRY_DO(find_types(options.path, text, header));
  if (has_test) TRY_DO(find_types(options.test_path, test_text, header));

  Data data;
  TableFeatures train;
  TableFeatures test;
  TableBuilder builder(header);
  std::uint64_t row = 0;
  const double fraction = has_test ? 0 : options.holdout;
  TRY(Count count, for_each_row(options.path, text, header, [&](const Fields& fields) {
        return held_out(row++, fraction, options.seed) ? builder.add(fields, data.test, test)
                                                       : builder.add(fields, data.train, train);
      }));
  if (has_test) {
    TRY(const Count more,
        for_each_row(options.test_path, test_text, header,
                     [&](const Fields& fields) { return builder.add(fields, data.test, test); }));
    count.rows += more.rows;
    count.dropped += more.dropped;
  }
  if (data.train.rows == 0) return fail("{}: no complete row to train on", options.path);
  builder.finish(data.train, std::move(train));
  builder.finish(data.test, std::move(test));
  data.description = fmt::format("csv: {} rows of {} columns that predict {}, {} held out",
                                 with_commas(data.train.rows), data.train.columns, options.target,
                                 with_commas(data.test.rows));
  if (count.dropped > 0)
    data.notes.push_back(fmt::format("dropped {} of {} rows with an empty cell",
                                     with_commas(count.dropped), with_commas(count.rows)));
  return data;
}

}  // namespace starling::models
