#include "models/data/data_options.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/text.h"

namespace starling::models {
namespace {

constexpr std::array<std::string_view, 6> kSources{"digits", "houses", "reference",
                                                   "idx",    "csv",    "libsvm"};
constexpr std::array<std::string_view, 4> kPartitions{"iid", "by-label", "dirichlet", "contiguous"};
constexpr std::array<std::string_view, 3> kTasks{"auto", "regression", "classification"};
constexpr std::array<std::string_view, 3> kMissings{"impute", "drop", "error"};
constexpr std::array<std::string_view, 4> kSeparators{"auto", "comma", "semicolon", "tab"};
constexpr std::array<char, 4> kSeparatorSigns{0, ',', ';', '\t'};
constexpr std::array<std::string_view, 2> kWeights{"nodes", "samples"};
constexpr double kAlphaLeast = 1e-3;
constexpr double kAlphaMost = 1e6;
constexpr std::int64_t kPartsLimit = 1'000'000;
constexpr std::int64_t kSamplesLimit = 1'000'000;
constexpr std::int64_t kReferenceLimit = 10'000;  // of n, d and m each
constexpr std::int64_t kSeedLimit = 0x7FFFFFFF;

// dirichlet:ALPHA has its number after the colon; the others stand alone.
std::optional<Partition> parse_partition(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (std::size_t i = 0; i < kPartitions.size(); ++i) {
    if (text.substr(0, colon) != kPartitions[i]) continue;
    Partition partition{.kind = static_cast<Partition::Kind>(i)};
    const bool takes_alpha = partition.kind == Partition::Kind::dirichlet;
    if (takes_alpha != (colon != std::string_view::npos)) return std::nullopt;
    if (!takes_alpha) return partition;
    const std::optional<double> alpha = parse_number(text.substr(colon + 1));
    if (!alpha || *alpha < kAlphaLeast || *alpha > kAlphaMost) return std::nullopt;
    partition.alpha = *alpha;
    return partition;
  }
  return std::nullopt;
}

std::optional<ShardChoice> parse_shard(std::string_view text) {
  if (text == "auto") return ShardChoice{};
  if (text == "all") return ShardChoice{.kind = ShardChoice::Kind::all};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto index = parse_integer(text.substr(0, slash));
  const auto count = parse_integer(text.substr(slash + 1));
  if (!index || !count || *index < 0 || *index >= *count || *count > kPartsLimit)
    return std::nullopt;
  return ShardChoice{.kind = ShardChoice::Kind::part,
                     .index = static_cast<std::size_t>(*index),
                     .count = static_cast<std::size_t>(*count)};
}

// share, or hash:BITS.
std::optional<unsigned> parse_words(std::string_view text) {
  constexpr std::string_view kHash = "hash:";
  if (text == "share") return 0;
  if (!text.starts_with(kHash)) return std::nullopt;
  const auto bits = parse_integer(text.substr(kHash.size()));
  if (!bits || *bits < 1 || *bits > kHashBitsLimit) return std::nullopt;
  return static_cast<unsigned>(*bits);
}

void read_table_options(Reader& reader, DataOptions& options) {
  options.ignore = reader.list("data.ignore");
  options.task = static_cast<Task>(reader.choice("data.task", kTasks));
  options.missing = static_cast<Missing>(reader.choice("data.missing", kMissings));
  options.separator = kSeparatorSigns[reader.choice("data.separator", kSeparators)];
  options.has_header = reader.flag("data.header");
  if (const auto bits = parse_words(reader.text("data.words")))
    options.hash_bits = *bits;
  else
    reader.mistake("data.words", fmt::format("expected share, or hash:BITS with BITS from 1 to {}",
                                             kHashBitsLimit));
}

ReferenceOptions read_reference(Reader& reader) {
  const auto size = [&](std::string_view name) {
    return static_cast<std::size_t>(reader.integer(name, 1, kReferenceLimit));
  };
  return {.n = size("data.reference.n"),
          .d = size("data.reference.d"),
          .m = size("data.reference.m"),
          .h = reader.number("data.reference.h", 0, 1e6),
          .noise = reader.number("data.reference.noise", 0, 1e6),
          .seed = static_cast<std::uint64_t>(reader.integer("data.reference.seed", 0, kSeedLimit))};
}

// What one key alone cannot tell.
void check_together(const DataOptions& options, Reader& reader) {
  const Source source = options.source;
  const bool reads_files =
      source == Source::idx || source == Source::csv || source == Source::libsvm;
  if (reads_files && options.path.empty())
    reader.mistake("data.path",
                   fmt::format("data.source = {} reads files; say where", to_string(source)));
  const bool is_part = options.shard.kind == ShardChoice::Kind::part;
  if (source == Source::reference && is_part && options.shard.index >= options.reference.n)
    reader.mistake("data.shard", fmt::format("data.reference.n = {} has problems 0 to {}",
                                             options.reference.n, options.reference.n - 1));
}

void describe_reference(Schema& schema) {
  schema.add({"data.reference.n", "16",
              "Least squares problems of source reference, one a node: node i has "
              "F_i(x) = |A_i x - b_i|^2 / (2m). Set it to the number of nodes: with fewer nodes "
              "the others' problems are nobody's."});
  schema.add({"data.reference.d", "10", "Unknowns of the reference problem: the length of x."});
  schema.add(
      {"data.reference.m", "20", "Rows of each A_i. Below d a node alone cannot determine x."});
  schema.add({"data.reference.h", "1.0",
              "How far the nodes' own solutions lie apart: x_i = xc + h U. 0 makes them agree; "
              "larger shows the bias of algorithms that only average."});
  schema.add({"data.reference.noise", "0.1", "Added to b_i: noise U, U uniform in [-1, 1)."});
  schema.add({"data.reference.seed", "1000", "Seed S of the reference problem."});
}

void describe_table(Schema& schema) {
  schema.add({"data.target", "", "The column a csv predicts; the other columns are features."});
  schema.add({"data.task", "auto",
              "What a csv's target is: regression (amounts), classification (classes), or auto: "
              "classes if it holds words, or whole numbers of few different values."});
  schema.add(
      {"data.ignore", "", "Columns of a csv that are left out, such as ids and dates.", true});
  schema.add({"data.missing", "impute",
              "What becomes of a row of a csv with a missing cell (empty, NA, N/A, nan, NULL, ? or "
              "-): impute (the mean of all nodes' rows for a number, a category of its own for a "
              "word), drop the row, or error. Rows without a target are left out."});
  schema.add({"data.words", "share",
              "How the words of a csv become features: share (one feature for each word of a "
              "column; every node learns the words, and the model's file holds them) or hash:BITS "
              "(one of 2^BITS features, by a hash; no word leaves the node, and words that share a "
              "hash cannot be told apart). Names of columns and of classes are always shared."});
  schema.add({"data.separator", "auto",
              "What separates the fields of a csv: comma, semicolon, tab, or auto: what its first "
              "line has most of."});
  schema.add(
      {"data.header", "true",
       "Whether the first line of a csv names the columns; if not, they are named 1, 2, ..."});
  schema.add({"data.weight", "nodes",
              "What the loss that the nodes minimise together is the mean over: nodes (a site of "
              "few rows weighs as much as one of many) or samples (every row of every site weighs "
              "the same; a site of k times the mean number of rows takes steps k times as long)."});
}

}  // namespace

void describe_data(Schema& schema) {
  schema.add(
      {"data.source", "digits",
       "What to learn from: digits (drawn images of ten classes) and houses (regression with "
       "a known optimum) need no files; reference is the test problem with known numbers; "
       "idx reads the MNIST family, csv a table with a header, libsvm sparse rows; files may "
       "be gzip or plain. With data.target the default is csv."});
  schema.add({"data.path", "",
              "The training file, for csv and libsvm; for idx the directory (or prefix) of "
              "train-images-idx3-ubyte, train-labels-idx1-ubyte and their t10k- counterparts. "
              "`starling up` takes {i} in it for the number of the node: site-{i}.csv gives each "
              "its own file, node-0 the file site-0.csv."});
  schema.add({"data.test-path", "",
              "The held-out file; empty holds out data.holdout of data.path (idx: reads t10k- "
              "files from data.path)."});
  describe_table(schema);
  schema.add({"data.partition", "iid",
              "How samples are ordered before each node takes its piece: iid (shuffled), by-label "
              "(sorted: each node sees few classes), dirichlet:ALPHA (class shares drawn; small "
              "ALPHA means nodes differ more), contiguous (file order). The more nodes differ, the "
              "larger the bias of algorithms without correction."});
  schema.add({"data.shard", "auto",
              "This node's piece: auto (shared out among the members), all (the file is this "
              "node's own), or I/N with 0 <= I < N (a fixed piece, whoever the members are)."});
  describe_reference(schema);
  schema.add({"data.samples", "10000",
              "Training samples of digits and houses; a fifth as many more are held out. Larger "
              "takes longer to draw and 784 bytes each (digits)."});
  schema.add({"data.holdout", "0.2",
              "Fraction of csv and libsvm rows held out for evaluation when data.test-path is "
              "empty; picked by a hash of row and data.seed, the same on every node."});
  schema.add({"data.seed", "1",
              "Seed of drawn data, of the held-out choice and of the partition. All nodes that "
              "share one data set need the same."});
}

DataOptions read_data_options(Reader& reader) {
  DataOptions options;
  options.source = static_cast<Source>(reader.choice("data.source", kSources));
  options.path = reader.text("data.path");
  options.test_path = reader.text("data.test-path");
  options.target = reader.text("data.target");
  if (!options.target.empty() && reader.is_default("data.source")) options.source = Source::csv;
  if (const auto partition = parse_partition(reader.text("data.partition")))
    options.partition = *partition;
  else
    reader.mistake("data.partition",
                   fmt::format("expected iid, by-label, contiguous or dirichlet:ALPHA with ALPHA "
                               "from {} to {}",
                               kAlphaLeast, kAlphaMost));
  if (const auto shard = parse_shard(reader.text("data.shard")))
    options.shard = *shard;
  else
    reader.mistake("data.shard",
                   fmt::format("expected auto, all or I/N with 0 <= I < N <= {}", kPartsLimit));
  read_table_options(reader, options);
  options.weight = static_cast<Weight>(reader.choice("data.weight", kWeights));
  options.reference = read_reference(reader);
  options.samples = static_cast<std::size_t>(reader.integer("data.samples", 10, kSamplesLimit));
  options.holdout = reader.number("data.holdout", 0, 0.9);
  options.seed = static_cast<std::uint64_t>(reader.integer("data.seed", 0, kSeedLimit));
  check_together(options, reader);
  return options;
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
