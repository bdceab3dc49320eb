#include "models/data/data_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "base/bindings.h"
#include "base/prng.h"
#include "base/text.h"

namespace starling::models {
namespace {

constexpr std::array<std::string_view, 6> kSources{"digits", "houses", "reference",
                                                   "idx",    "csv",    "libsvm"};
constexpr std::array<std::string_view, 4> kPartitions{"iid", "by-label", "dirichlet", "contiguous"};
constexpr std::array<std::string_view, 2> kSplits{"rows", "columns"};
constexpr std::array<std::string_view, 3> kTasks{"auto", "regression", "classification"};
constexpr std::array<std::string_view, 2> kTargetScales{"plain", "log"};
constexpr std::array<std::string_view, 3> kMissings{"impute", "drop", "error"};
constexpr std::array<std::string_view, 3> kDecimals{"auto", "point", "comma"};
constexpr std::array<std::string_view, 2> kNumbers{"read", "plain"};
constexpr std::array<std::string_view, 2> kWordsCases{"keep", "fold"};
constexpr std::array<std::string_view, 4> kSeparators{"auto", "comma", "semicolon", "tab"};
constexpr std::array<char, 4> kSeparatorSigns{0, ',', ';', '\t'};
constexpr std::array<std::string_view, 3> kWeights{"nodes", "samples", "steps"};
constexpr double kAlphaLeast = 1e-3;
constexpr double kAlphaMost = 1e6;
constexpr std::int64_t kPartsLimit = 1'000'000;
constexpr std::int64_t kSamplesLimit = 1'000'000;
constexpr std::int64_t kReferenceLimit = 10'000;  // of n, d and m each
constexpr std::int64_t kSeedLimit = 0x7FFFFFFF;

Result<Partition> parse_partition(std::string_view text) {
  using enum Partition::Kind;
  constexpr std::string_view kDirichlet = "dirichlet:";
  if (text.starts_with(kDirichlet)) {
    const std::optional<double> alpha = parse_number(text.substr(kDirichlet.size()));
    if (alpha && *alpha >= kAlphaLeast && *alpha <= kAlphaMost)
      return Partition{.kind = dirichlet, .alpha = *alpha};
  }
  for (const Partition::Kind kind : {iid, by_label, contiguous})
    if (text == kPartitions[static_cast<std::size_t>(kind)]) return Partition{.kind = kind};
  return fail("expected iid, by-label, contiguous or dirichlet:ALPHA with ALPHA from {} to {}",
              kAlphaLeast, kAlphaMost);
}

Result<ShardChoice> parse_shard(std::string_view text) {
  if (text == "auto") return ShardChoice{};
  if (text == "all") return ShardChoice{.kind = ShardChoice::Kind::all};
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto index = parse_integer(text.substr(0, slash));
  const auto count = parse_integer(text.substr(std::min(slash + 1, text.size())));
  if (!index || !count || *index < 0 || *index >= *count || *count > kPartsLimit)
    return fail("expected auto, all or I/N with 0 <= I < N <= {}", kPartsLimit);
  return ShardChoice{.kind = ShardChoice::Kind::part,
                     .index = static_cast<std::size_t>(*index),
                     .count = static_cast<std::size_t>(*count)};
}

// share, or hash:BITS.
Result<unsigned> parse_words(std::string_view text) {
  constexpr std::string_view kHash = "hash:";
  if (text == "share") return 0;
  const auto bits =
      text.starts_with(kHash) ? parse_integer(text.substr(kHash.size())) : std::nullopt;
  if (!bits || *bits < 1 || *bits > kHashBitsLimit)
    return fail("expected share, or hash:BITS with BITS from 1 to {}", kHashBitsLimit);
  return static_cast<unsigned>(*bits);
}

std::string print_words(unsigned bits) {
  return bits == 0 ? "share" : fmt::format("hash:{}", bits);
}

// Words between commas, of which one may be empty.
Result<std::vector<std::string>> parse_missing_words(std::string_view text) {
  std::vector<std::string> words;
  if (text.empty() || text.starts_with(',')) words.emplace_back();
  for (const std::string& word : split(text, ',')) {
    if (trim(word).empty()) continue;
    words.emplace_back(trim(word));
    if (words.back().size() > kMissingWordBytesLimit)
      return fail("expected words of at most {} bytes between commas", kMissingWordBytesLimit);
  }
  if (words.size() > kMissingWordsMost) return fail("expected at most {} words", kMissingWordsMost);
  return words;
}

std::string print_missing_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

// Loads the schema, and looks whether the dictionary can be read: of `up`, each node has its own.
void load_names(DataOptions& options, Reader& reader) {
  const std::string& dictionary = options.dictionary_path;
  if (!dictionary.empty() && dictionary.find("{i}") == std::string::npos)
    if (const auto found = read_dictionary(dictionary); !found)
      reader.mistake("data.dictionary", found.error().text);
  if (options.schema_path.empty()) return;
  auto schema = read_schema(options.schema_path);
  if (!schema) return reader.mistake("data.schema", schema.error().text);
  options.schema = std::make_shared<const TableSchema>(*std::move(schema));
  if (options.target.empty()) options.target = options.schema->target;
  if (options.target != options.schema->target)
    reader.mistake("data.target", fmt::format("the schema predicts {}", options.schema->target));
  if (options.task == Task::automatic)
    options.task = options.schema->classifies ? Task::classification : Task::regression;
}

// What tables that are cut by columns cannot have.
void check_columns(const DataOptions& options, Reader& reader) {
  if (options.source != Source::csv)
    reader.mistake("data.split", fmt::format("data.source = {} has no columns to cut; expected csv",
                                             to_string(options.source)));
  if (options.key.empty())
    reader.mistake("data.key", "data.split = columns matches rows by a key; name its column");
  else if (options.key == options.target)
    reader.mistake("data.key", "is the target too; expected another column");
  if (options.target.empty())
    reader.mistake("data.target", "data.split = columns learns a target; name its column");
  if (!options.test_path.empty())
    reader.mistake("data.test-path",
                   "no row is held out with data.split = columns, for one node alone cannot judge "
                   "it; expected none");
  if (options.shard.kind == ShardChoice::Kind::part)
    reader.mistake("data.shard", "data.split = columns shares no rows out; expected auto");
  if (options.partition != Partition())
    reader.mistake("data.partition", "data.split = columns shares no rows out; expected iid");
  if (options.weight != Weight::nodes)
    reader.mistake("data.weight",
                   "with data.split = columns all nodes learn one loss; expected nodes");
  if (options.refits)
    reader.mistake("data.refit", "no row is held out with data.split = columns; expected false");
}

// Checks keys against each other.
void check_together(const DataOptions& options, Reader& reader) {
  const Source source = options.source;
  const bool reads_files =
      source == Source::idx || source == Source::csv || source == Source::libsvm;
  if (reads_files && options.path.empty())
    reader.mistake("data.path",
                   fmt::format("data.source = {} reads files; say where", to_string(source)));
  if (!reads_files && !options.path.empty() && options.path != "none")  // of a relay
    reader.mistake("data.path",
                   fmt::format("data.source = {} reads no file; a table needs data.target",
                               to_string(source)));
  if (options.split == Split::columns) check_columns(options, reader);
  const bool is_part = options.shard.kind == ShardChoice::Kind::part;
  if (source == Source::reference && is_part && options.shard.index >= options.reference.n)
    reader.mistake("data.shard", fmt::format("data.reference.n = {} has problems 0 to {}",
                                             options.reference.n, options.reference.n - 1));
}

// Which piece a node takes by hand may differ by node.
std::string print_shard(const ShardChoice& shard) {
  return shard.kind == ShardChoice::Kind::automatic ? "auto" : "all or I/N";
}

// For keys that deal out one data set: irrelevant if each node says what it holds.
template <class T>
auto where_dealt(T DataOptions::*member) {
  return [member](const DataOptions& options) -> std::optional<std::string> {
    if (options.shard.kind != ShardChoice::Kind::automatic) return std::nullopt;
    if constexpr (std::is_same_v<T, Partition>)
      return to_string(options.*member);
    else
      return fmt::format("{}", options.*member);
  };
}

void bind_source(Bindings<DataOptions>& all) {
  using enum Scope;
  all.bind("data.source", &DataOptions::source, OneOf{kSources}, agreed,
           "What to learn from: digits (drawn images of ten classes) and houses (regression with "
           "a known optimum) need no files; reference is the test problem with known numbers; "
           "idx reads the MNIST family, csv a table with a header, libsvm sparse rows; files may "
           "be gzip or plain. With data.target the default is csv.")
      .bind("data.path", &DataOptions::path, Text{}, own,
            "The training file, for csv and libsvm; for idx the directory (or prefix) of "
            "train-images-idx3-ubyte, train-labels-idx1-ubyte and their t10k- counterparts. "
            "`starling up` takes {i} in it for the number of the node: site-{i}.csv gives each "
            "its own file, node-0 the file site-0.csv.")
      .bind("data.test-path", &DataOptions::test_path, Text{}, own,
            "The held-out file; empty holds out data.holdout of data.path (idx: reads t10k- "
            "files from data.path).");
}

void bind_table(Bindings<DataOptions>& all) {
  using enum Scope;
  all.bind("data.target", &DataOptions::target, Text{}, agreed,
           "The column a csv predicts; the other columns are features.")
      .bind("data.split", &DataOptions::split, OneOf{kSplits}, agreed,
            "What the nodes hold of one table of source csv: rows (each has all columns of other "
            "rows), or columns (each has other columns of the same rows, which data.key names; the "
            "target may be at one of them). Columns are learned with a linear model and model.l2 "
            "above 0; each node ends with the weights of its own columns.")
      .bind("data.key", &DataOptions::key, Text{}, agreed,
            "The column of a csv that names a row, which is no feature. With data.split = columns "
            "rows are matched over the sites by a hash of its cells, salted with data.seed; rows "
            "that one site lacks are left out.")
      .bind(
          "data.schema", &DataOptions::schema_path, Text{}, agreed,
          "File with names, kinds, words and units of the columns of all sites, as `starling data "
          "--write-schema` writes it; it sets data.target and data.task. Columns beyond it are "
          "not read.")
      .agrees_on([](const DataOptions& options) -> std::optional<std::string> {
        return options.schema ? fmt::format("{:016x}", options.schema->hash) : "none";
      })
      .bind("data.dictionary", &DataOptions::dictionary_path, Text{}, own,
            "File that says how this site calls and writes the columns of the schema, or of a "
            "model: from, words, scale, missing; `starling data --write-dictionary` proposes one.")
      .bind("data.task", &DataOptions::task, OneOf{kTasks}, agreed,
            "What a csv's target is: regression (amounts), classification (classes), or auto: "
            "classes if it holds words, or whole numbers of few different values.")
      .bind("data.target-scale", &DataOptions::target_scale, OneOf{kTargetScales}, agreed,
            "How amounts of a csv are learned: plain (as they are), or log (by their logarithms, "
            "for amounts above 0 with a long tail; what is predicted is then rather their median "
            "than their mean).")
      .bind("data.ignore", &DataOptions::ignore, Text{}, own,
            "Columns of a csv that are left out, such as ids.")
      .bind("data.missing", &DataOptions::missing, OneOf{kMissings}, agreed,
            "What becomes of a row of a csv with a missing cell (see data.missing-words; also "
            "a rare word in a column of numbers): impute (the mean of all nodes' rows for a "
            "number, a category of its own for a "
            "word), drop the row, or error. Rows without a target are left out.")
      .bind(
          "data.missing-words", &DataOptions::missing_words,
          Written{parse_missing_words, print_missing_words}, own,
          "What says in a csv that a value is missing, in any case, between commas; a first comma "
          "names the empty cell. In a column of words, what stands in quotes is a word. A model "
          "remembers them.")
      .bind("data.words-case", &DataOptions::words_case, OneOf{kWordsCases}, agreed,
            "Words of a csv that differ in case and blanks alone: keep (they are different words) "
            "or fold (they are one, in small letters).")
      .bind("data.words", &DataOptions::hash_bits, Written{parse_words, print_words}, agreed,
            "How the words of a csv become features: share (one feature for each word of a "
            "column; every node learns the words, and the model's file holds them) or hash:BITS "
            "(one of 2^BITS features, by a hash; no word leaves the node, and words that share a "
            "hash cannot be told apart). Names of columns and of classes are always shared.")
      .bind("data.suppress-below", &DataOptions::suppress_below, Whole{0, 1'000'000'000}, own,
            "Fewest rows of this node that a word, a class, or the mean of a column of a csv must "
            "be of, so that the node tells it to the founders; 0: all is told. A word that no node "
            "tells counts as none of its column's, and rows of a class that no node tells are left "
            "out; larger hides more and leaves more out. With fewer rows the node tells nothing.")
      .add({"data.separator", "auto",
            "What separates the fields of a csv: comma, semicolon, tab, or auto: what its first "
            "line has most of."},
           [](Reader& reader, DataOptions& options) {
             options.separator = kSeparatorSigns[reader.choice("data.separator", kSeparators)];
           })
      .among(kSeparators)
      .bind("data.decimal", &DataOptions::decimal, OneOf{kDecimals}, own,
            "What a csv's numbers have before their fraction: point, comma (3,14), or auto: comma "
            "where a column of numbers has such cells and none with a point. A model remembers it.")
      .bind("data.numbers", &DataOptions::numbers, OneOf{kNumbers}, own,
            "Which cells of a csv are numbers: read (1,234.50, 1.234,50, $12, 12 %, <0.05 and "
            "1.2 mg/dl, where all of a column can be read so; and dates as days, with month, "
            "weekday and hour) or plain (1234.5 alone).")
      .bind("data.encoding", &DataOptions::encoding, Text{}, own,
            "Encoding of a csv by its name in iconv(3), such as latin1 or cp1252; auto: UTF-8, or "
            "UTF-16 by its byte order mark.")
      .bind("data.header", &DataOptions::has_header, kFlag, own,
            "Whether the first line of a csv names the columns; if not, they are named 1, 2, ...")
      .bind("data.weight", &DataOptions::weight, OneOf{kWeights}, agreed,
            "What the loss that the nodes minimise together is the mean over: nodes (a site of "
            "few rows weighs as much as one of many), samples (every row of every site weighs "
            "the same; a site of k times the mean number of rows takes steps k times as long) or "
            "steps (a node weighs by the local steps it takes in a round; see optim.pace).");
}

void bind_reference(Bindings<DataOptions>& all) {
  using enum Scope;
  const auto of = [](auto member) { return at(&DataOptions::reference, member); };
  all.bind("data.reference.n", of(&ReferenceOptions::n), Whole{1, kReferenceLimit}, agreed,
           "Least squares problems of source reference, one a node: node i has "
           "F_i(x) = |A_i x - b_i|^2 / (2m). Set it to the number of nodes: with fewer nodes "
           "the others' problems are nobody's.")
      .bind("data.reference.d", of(&ReferenceOptions::d), Whole{1, kReferenceLimit}, agreed,
            "Unknowns of the reference problem: the length of x.")
      .bind("data.reference.m", of(&ReferenceOptions::m), Whole{1, kReferenceLimit}, agreed,
            "Rows of each A_i. Below d a node alone cannot determine x.")
      .bind("data.reference.h", of(&ReferenceOptions::h), Real{0, 1e6}, agreed,
            "How far the nodes' own solutions lie apart: x_i = xc + h U. 0 makes them agree; "
            "larger shows the bias of algorithms that only average.")
      .bind("data.reference.noise", of(&ReferenceOptions::noise), Real{0, 1e6}, agreed,
            "Added to b_i: noise U, U uniform in [-1, 1).")
      .bind("data.reference.seed", of(&ReferenceOptions::seed), Whole{0, kSeedLimit}, agreed,
            "Seed S of the reference problem.");
}

void bind_dealing(Bindings<DataOptions>& all) {
  using enum Scope;
  all.bind("data.partition", &DataOptions::partition,
           Written{parse_partition, [](const Partition& p) { return to_string(p); }}, agreed,
           "How samples are ordered before each node takes its piece: iid (shuffled), by-label "
           "(sorted: each node sees few classes), dirichlet:ALPHA (class shares drawn; small "
           "ALPHA means nodes differ more), contiguous (file order). The more nodes differ, the "
           "larger the bias of algorithms without correction.")
      .agrees_on(where_dealt(&DataOptions::partition))
      .bind("data.shard", &DataOptions::shard, Written{parse_shard, print_shard}, agreed,
            "This node's piece: auto (one file, the same at all nodes, shared out among members: "
            "tables that differ are refused), all (the file is this node's own), or I/N with "
            "0 <= I < N (a fixed piece for any members).");
  bind_reference(all);
  all.bind("data.samples", &DataOptions::samples, Whole{10, kSamplesLimit}, agreed,
           "Training samples of digits and houses; a fifth as many more are held out. Larger "
           "takes longer to draw and 784 bytes each (digits).")
      .agrees_on(where_dealt(&DataOptions::samples))
      .bind("data.holdout", &DataOptions::holdout, Real{0, 0.9}, agreed,
            "Fraction of csv and libsvm rows held out for evaluation when data.test-path is "
            "empty; picked by a hash of row and data.seed, the same on every node.")
      .agrees_on(where_dealt(&DataOptions::holdout))
      .bind("data.refit", &DataOptions::refits, kFlag, agreed,
            "Whether the held-out rows of a csv or libsvm are trained on in the end: once the "
            "model has been judged, half as many rounds follow on all rows, with the last "
            "learning rates of the schedule. The model of the file is then better than the one "
            "that was judged, and nobody knows by how much.")
      .bind("data.seed", &DataOptions::seed, Whole{0, kSeedLimit}, agreed,
            "Seed of drawn data, of the held-out choice and of the partition. All nodes that "
            "share one data set need the same.")
      .agrees_on([](const DataOptions& options) -> std::optional<std::string> {
        if (options.split == Split::columns) return fmt::to_string(options.seed);
        return where_dealt(&DataOptions::seed)(options);
      });
}

const Bindings<DataOptions>& bindings() {
  static const auto kBindings = [] {
    Bindings<DataOptions> all;
    bind_source(all);
    bind_table(all);
    bind_dealing(all);
    return all;
  }();
  return kBindings;
}

}  // namespace

void describe_data(Schema& schema) {
  bindings().describe(schema);
}

DataOptions read_data_options(Reader& reader) {
  DataOptions options;
  bindings().read(reader, options);
  load_names(options, reader);
  if (!options.target.empty() && reader.is_default("data.source")) options.source = Source::csv;
  check_together(options, reader);
  // A file of columns is its node's own.
  if (options.split == Split::columns) options.shard.kind = ShardChoice::Kind::all;
  return options;
}

std::vector<Term> agreed(const DataOptions& options) {
  return bindings().agreed(options);
}

bool is_held_out(const DataOptions& options, std::uint64_t row) {
  return options.split == Split::rows && options.test_path.empty() &&
         Prng::derive(options.seed, row).uniform() < options.holdout;
}

std::string_view to_string(Source source) {
  return kSources[static_cast<std::size_t>(source)];
}

std::string to_string(const Partition& partition) {
  const std::string_view name = kPartitions[static_cast<std::size_t>(partition.kind)];
  if (partition.kind != Partition::Kind::dirichlet) return std::string(name);
  return fmt::format("{}:{}", name, partition.alpha);
}

}  // namespace starling::models
