#include "models/data_options.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace starling::models {
namespace {

constexpr std::array<std::string_view, 6> kSources{"digits", "houses", "reference",
                                                   "idx",    "csv",    "libsvm"};
constexpr std::array<std::string_view, 4> kPartitions{"iid", "by-label", "dirichlet", "contiguous"};
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

}  // namespace

void describe_data(Schema& schema) {
  schema.add(
      {"data.source", "digits",
       "What to learn from: digits (drawn images of ten classes) and houses (regression with "
       "a known optimum) need no files; reference is the test problem with known numbers; "
       "idx reads the MNIST family, csv a table with a header, libsvm sparse rows; files may "
       "be gzip or plain."});
  schema.add({"data.path", "",
              "The training file, for csv and libsvm; for idx the directory (or prefix) of "
              "train-images-idx3-ubyte, train-labels-idx1-ubyte and their t10k- counterparts."});
  schema.add({"data.test-path", "",
              "The held-out file; empty holds out data.holdout of data.path (idx: reads t10k- "
              "files from data.path)."});
  schema.add({"data.target", "", "The column a csv predicts; the other columns are features."});
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
