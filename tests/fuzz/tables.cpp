// What a model is learned from: tables, images, sparse rows, surveys of them, and edge lists.
#include <cmath>

#include "base/utf8.h"
#include "models/data/cell.h"
#include "models/data/columns/date_cell.h"
#include "models/data/columns/number_cell.h"
#include "models/data/columns/truth.h"
#include "models/data/csv.h"
#include "models/data/csv_reader.h"
#include "models/data/load.h"
#include "models/data/row_match.h"
#include "models/data/survey.h"
#include "models/nets/model_card.h"
#include "tests/daemon/temporary_folder.h"
#include "tests/fuzz/input.h"
#include "topology/build.h"

namespace starling::fuzz {
namespace {

using namespace models;

const test::TemporaryFolder& scratch() {
  static const test::TemporaryFolder folder;
  return folder;
}

// As many labels or targets as rows, each in its range.
void expect_sound(const Dataset& set) {
  ENSURE(set.labels.size() == (set.classes > 0 ? set.rows : 0), "each row has its label");
  ENSURE(set.targets.size() == (set.classes > 0 ? 0 : set.rows), "each row has its target");
  for (const std::int32_t label : set.labels)
    ENSURE(label >= 0 && static_cast<std::size_t>(label) < set.classes, "a label is a class");
  for (const double target : set.targets) ENSURE(std::isfinite(target), "a target is finite");
  if (const auto* table = std::get_if<TableFeatures>(&set.features)) {
    ENSURE(table->numbers.size() == set.rows * table->number_columns, "each row has its numbers");
    ENSURE(table->codes.size() == set.rows * table->words.size(), "each row has its words");
    for (std::size_t k = 0; k < table->codes.size(); ++k)
      ENSURE(table->codes[k] < table->words[k % table->words.size()].size(), "a code is a word");
  }
  if (const auto* sparse = std::get_if<SparseFeatures>(&set.features)) {
    ENSURE(sparse->row_start.size() == set.rows + 1, "each row has its entries");
    for (const std::uint32_t column : sparse->column)
      ENSURE(column < set.columns, "an entry is of a column");
    for (const float value : sparse->value) ENSURE(std::isfinite(value), "an entry is finite");
  }
}

void expect_sound(const Result<Data>& data) {
  if (!data) return expect_reason(data.error());
  ENSURE(data->train.rows > 0, "there is something to learn from");
  expect_sound(data->train);
  if (data->test.rows > 0) expect_sound(data->test);
}

// ---------------------------------------------------------------- csv

void run_csv(Bytes input) {
  Input in(input);
  DataOptions options{.source = Source::csv, .target = "y"};
  options.task = static_cast<Task>(in.below(3));
  options.missing = static_cast<Missing>(in.below(3));
  options.decimal = static_cast<Decimal>(in.below(3));
  options.has_header = in.byte() % 4 != 1;
  if (!options.has_header) options.target = "3";
  options.separator = "\0,;\t"[in.below(4)];
  if (in.flag()) options.ignore = {"id"};
  options.hash_bits = static_cast<unsigned>(in.byte() % 16 == 1 ? 4 : 0);
  if (in.byte() % 8 == 1) options.test_path = scratch().write("test.csv", "a,b,y\n1,x,2\n");
  options.path = scratch().write("train.csv", text_of(in.rest()));
  const auto data = read_csv(options);
  expect_sound(data);
  if (!data || options.hash_bits > 0) return;
  std::vector<std::uint32_t> rows(data->train.rows);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::uint32_t>(k);
  const std::string survey = encode(make_survey(data->train, rows, 0));
  const auto again = decode_survey(survey);
  ENSURE(again && encode(*again) == survey, "the survey of a table reads as the same");
}

std::vector<std::string> csv_seeds() {
  const std::string head(8, '\0');
  std::string rows = "id,a,b,y\n", words = "a;b;y\n", plain;
  for (int k = 0; k < 12; ++k) {
    const std::string number = std::to_string(k);
    rows += number + "," + number + ".5," + (k % 3 ? "\"x, y\"" : "NA") + "," + number + "\r\n";
    words += number + ",5;word" + number + ";" + (k % 2 ? "yes" : "no") + "\n";
    plain += number + "\t2013-01-31\t1e" + number + "\n";
  }
  return {head + rows, head + words, std::string("\0\1\0\1\0\0\0\0", 8) + plain,
          std::string("\2\2\2\0\2\1\0\1", 8) + words, "\xef\xbb\xbf" + head + rows};
}

// Cells and records, without the rest of a table.
void run_cells(Bytes input) {
  Input in(input);
  const bool comma = in.flag();
  const char separator = ",;\t"[in.below(3)];
  CsvReader reader("x.csv", text_of(in.rest()), separator);
  std::vector<Cell> fields;
  for (auto more = reader.next(fields); more && *more; more = reader.next(fields))
    for (const auto& [cell, is_quoted] : fields) {
      if (const auto number = cell_number(cell, comma))
        ENSURE(std::isfinite(*number), "a number is finite");
      ENSURE(!is_missing(cell, default_missing_words()) || !cell_number(cell, comma),
             "a missing cell is no number");
      const std::string name = class_name(cell, comma);
      ENSURE(class_name(name) == name || comma, "the name of a class is its own name");
      if (const auto number = split_number(cell)) value_of(*number, comma);
      split_date(cell, comma ? DateOrder::day_first : DateOrder::unknown), split_time(cell);
      is_infinite(cell), truth_of(cell), folded(cell);
    }
}

std::vector<std::string> cell_seeds() {
  return {std::string("\0\0", 2) + "1,-2.5,1e3,\"a \"\"b\"\"\n,c\",NA,?\n1 234,inf,+7,0x10,12:30\n",
          "\1\1"
          "3,14;1.234.567,8;nan;2013-01-31T12:30:00Z\n31/1/2013;-;\"x\"\n"};
}

// ---------------------------------------------------------------- idx, libsvm

std::string word_of(std::uint32_t value) {
  std::string text;
  for (int k = 3; k >= 0; --k) text.push_back(static_cast<char>(value >> 8 * k));
  return text;
}

// The images, of as many bytes as the first two say, then the labels.
void run_idx(Bytes input) {
  Input in(input);
  const std::size_t size = in.number(2);
  scratch().write("train-images-idx3-ubyte", in.text(size));
  scratch().write("train-labels-idx1-ubyte", text_of(in.rest()));
  expect_sound(read_idx(scratch().path(), ""));
}

std::vector<std::string> idx_seeds() {
  std::vector<std::string> seeds;
  for (const std::uint32_t count : {1U, 3U}) {
    const std::string images =
        word_of(0x803) + word_of(count) + word_of(2) + word_of(2) + std::string(4 * count, '\7');
    const std::string labels = word_of(0x801) + word_of(count) + std::string(count, '\5');
    seeds.push_back(std::string{static_cast<char>(images.size()), 0} + images + labels);
  }
  return seeds;
}

void run_libsvm(Bytes input) {
  Input in(input);
  DataOptions options{.source = Source::libsvm};
  if (in.flag()) options.test_path = scratch().write("test.svm", "+1 1:0.5\n");
  options.path = scratch().write("train.svm", text_of(in.rest()));
  expect_sound(read_libsvm(options));
}

std::vector<std::string> libsvm_seeds() {
  std::string signs(1, '\0'), classes(1, '\1');
  for (int k = 0; k < 12; ++k) {
    signs += std::string(k % 2 ? "+1" : "-1") + " 1:0.5 3:-2e3 # a comment\n";
    classes += std::to_string(k % 3) + " 2:1 7:0\r\n";
  }
  return {signs, classes};
}

// ---------------------------------------------------------------- surveys

// Of a site with other columns; it may hold any byte.
void run_site_rows(Bytes input) {
  const auto rows = decode_site_rows(text_of(input));
  if (!rows) return expect_reason(rows.error());
  const std::string once = encode(*rows);
  const auto again = decode_site_rows(once);
  ENSURE(again && encode(*again) == once, "rows that are told on stay as they are");
  const std::vector<SiteRows> both{*rows, *again};
  if (const auto match = match_rows(both); !match) expect_reason(match.error());
}

void run_survey(Bytes input) {
  run_site_rows(input);
  Input in(input);
  const std::string first(in.until('\x01'));
  const auto survey = decode_survey(first);
  if (!survey) return expect_reason(survey.error());
  for (const ColumnSurvey& column : survey->columns)
    ENSURE(is_utf8(column.name), "the name of a column is UTF-8");
  const std::string once = encode(*survey);
  const auto again = decode_survey(once);
  ENSURE(again && encode(*again) == once, "a survey that is sent on stays as it is");
  const std::vector<std::string> texts = {first, std::string(text_of(in.rest()))};
  for (const auto& merged : {merge_texts(std::span(texts).first(1)), merge_texts(texts)})
    if (!merged) expect_reason(merged.error());
}

std::vector<std::string> survey_seeds() {
  Survey survey;
  survey.columns = {{"age", Content::numbers, {.count = 4, .mean = 40, .squares = 400}, {}},
                    {"job", Content::words, {}, {"", "clerk", "nurse"}},
                    {"nothing", Content::empty, {}, {}}};
  survey.target = "ill";
  survey.classifies = true;
  survey.classes = {"no", "yes"};
  survey.rows = 4;
  std::vector<std::string> seeds = {encode(survey), encode(survey) + "\x01" + encode(survey)};
  survey.classifies = false;
  survey.classes = {};
  survey.amounts = {.count = 4, .mean = 100, .squares = 16};
  survey.dealt = DealtFile{.rows = 4, .hash = 7};
  survey.missing = {"k.A."};
  seeds.push_back(encode(survey));
  seeds.push_back(encode(SiteRows{.site = "a",
                                  .keys = {1, 7, 9},
                                  .has_target = true,
                                  .classifies = true,
                                  .classes = {"no", "yes"},
                                  .digests = {5}}));
  return seeds;
}

// ---------------------------------------------------------------- edge lists

void run_edges(Bytes input) {
  topology::Options options{.kind = topology::Kind::file, .file = "x.edges"};
  auto list = topology::parse_edges(text_of(input), "x.edges");
  if (!list) return expect_reason(list.error());
  for (const topology::NamedEdges& edges : {list->edges, list->arcs})
    for (const auto& [a, b] : edges)
      ENSURE(a != b && !a.empty() && !b.empty(), "an edge joins two nodes");
  options.edges = std::move(list->edges);
  options.arcs = std::move(list->arcs);
  for (const std::size_t nodes : {1, 3, 4})
    if (const auto valid = validate(options, nodes); !valid) expect_reason(valid.error());
  agreed(options);
}

std::vector<std::string> edge_seeds() {
  return {"0 1\n1 2\n2 0\n", "# a star\na b\na\tc {}\n\n a  d # and one\r\n", "a b 1.5\n",
          "a -> b\n"};
}

}  // namespace

std::vector<Target> table_targets() {
  return {
      {"csv", run_csv, csv_seeds, 2048, 800},     {"cells", run_cells, cell_seeds, 512},
      {"idx", run_idx, idx_seeds, 512, 800},      {"libsvm", run_libsvm, libsvm_seeds, 1024, 800},
      {"survey", run_survey, survey_seeds, 2048}, {"edges", run_edges, edge_seeds, 512}};
}

}  // namespace starling::fuzz
