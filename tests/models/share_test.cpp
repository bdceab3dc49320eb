// Shares that keep only their own rows, beside shares that keep all.
#include "models/data/share.h"

#include <algorithm>

#include "models/data/row_reader.h"
#include "models/data/subset.h"
#include "models/linear/feature_map.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

// Reads when it is asked for what was read: rows of a data set that is there, or of a file.
class Shelf final : public RowReader {
 public:
  explicit Shelf(std::function<Result<Dataset>(const Rows&)> read) : read_(std::move(read)) {}

  void request(Rows rows) override { rows_ = std::move(rows), ++requests; }
  std::optional<Result<Dataset>> take() override {
    if (is_slow) return std::nullopt;
    return read_(rows_);
  }

  int requests = 0;
  bool is_slow = false;

 private:
  std::function<Result<Dataset>(const Rows&)> read_;
  Rows rows_;
};

// A table of numbers, words and classes; row r says so in its first column.
std::string table(std::size_t rows, const std::string& word = "b") {
  std::string text = "number,word,y\n";
  for (std::size_t r = 0; r < rows; ++r)
    text += fmt::format("{}.5,{},{}\n", r, r % 3 ? "a" : word, r % 7 ? "yes" : "no");
  return text;
}

DataOptions options_of(Partition::Kind kind) {
  DataOptions options{.source = Source::csv, .target = "y"};
  options.holdout = 0;
  options.partition = {.kind = kind, .alpha = 0.5};
  return options;
}

struct Node {
  std::shared_ptr<Shelf> shelf;
  Share share;
};

Node keeper(const DataOptions& options, std::function<Result<Dataset>(const Rows&)> read) {
  Data data = value_of(load(options));
  auto shelf = std::make_shared<Shelf>(std::move(read));
  data.reader = shelf;
  return {shelf, Share(std::make_shared<const Data>(std::move(data)), options)};
}

// The first number of every row that a batch of all samples has, in its order, and its label.
std::vector<double> trained_on(Share& share) {
  const Selection selection = share.batch({});
  const auto& features = std::get<TableFeatures>(selection.set->features);
  std::vector<double> seen;
  for (const std::uint32_t row : selection.rows) {
    seen.push_back(features.numbers[row * features.number_columns]);
    seen.push_back(selection.set->labels[row]);
  }
  return seen;
}

optim::Shard shard_among(const std::vector<NodeId>& members, NodeId node) {
  return {.members = members,
          .place = static_cast<std::size_t>(std::ranges::find(members, node) - members.begin())};
}

constexpr Partition::Kind kPartitions[] = {Partition::Kind::iid, Partition::Kind::by_label,
                                           Partition::Kind::dirichlet, Partition::Kind::contiguous};

}  // namespace

TEST_CASE("A share that keeps only its own rows trains on what one that keeps all trains on") {
  const Folder folder("share");
  for (const Partition::Kind kind : kPartitions) {
    DataOptions options = options_of(kind);
    options.path = folder.write("a.csv", table(500));
    const auto data = load_shared(options);
    Node own =
        keeper(options, [&](const Rows& rows) { return reread(options, data->train_hash, rows); });
    Share all(data, options);
    const std::vector<NodeId> everyone = shard_of(12, 0).members;
    Prng prng(3);
    for (int change = 0; change < 30; ++change) {
      std::vector<NodeId> members{everyone[0]};
      for (std::size_t i = 1; i < everyone.size(); ++i)
        if (prng.below(2)) members.push_back(everyone[i]);
      const optim::Shard shard = shard_among(members, everyone[0]);
      const Assignment assignment = all.assign(shard);
      CHECK(own.share.assign(shard).parts == assignment.parts);
      own.share.refresh();
      REQUIRE(trained_on(own.share) == trained_on(all));
      CHECK(own.share.description() == all.description());
      CHECK(own.share.train().rows == own.share.rows().size());
      CHECK(own.share.notes().empty());
    }
    CHECK(own.shelf->requests > 0);
  }
}

TEST_CASE("Shares with held-out rows hold every row of the file once and are judged as before") {
  const Folder folder("refit");
  for (const Partition::Kind kind : kPartitions) {
    DataOptions options = options_of(kind);
    options.path = folder.write("a.csv", table(300));
    options.holdout = 0.2;
    const auto data = load_shared(options);
    std::vector<double> held;
    for (std::size_t place = 0; place < 3; ++place) {
      optim::Shard shard = shard_of(3, place);
      Share all(data, options);
      Node own = keeper(options,
                        [&](const Rows& rows) { return reread(options, data->train_hash, rows); });
      for (Share* share : {&all, &own.share}) {
        share->assign(shard);
        share->refresh();
      }
      const std::size_t judged = all.evaluation(0).rows.size();
      CHECK(judged == data->test.rows);
      shard.has_held_out = true;
      for (Share* share : {&all, &own.share}) {
        share->assign(shard);
        share->refresh();
      }
      CHECK(all.evaluation(0).rows.size() == judged);
      CHECK(all.description().find("held-out ones") != std::string::npos);
      const std::vector<double> seen = trained_on(all);
      CHECK(trained_on(own.share) == seen);
      for (std::size_t i = 0; i < seen.size(); i += 2) held.push_back(seen[i]);
    }
    std::ranges::sort(held);
    CHECK(held.size() == 300);
    CHECK(std::ranges::adjacent_find(held) == held.end());
  }
}

TEST_CASE("A share of a small file of which no row is held out has its own rows in the end too") {
  const Folder folder("small");
  DataOptions options = options_of(Partition::Kind::iid);
  options.path = folder.write("a.csv", table(30));
  options.holdout = 1e-9;
  Share share(load_shared(options), options);
  optim::Shard shard = shard_of(2, 0);
  share.assign(shard);
  const std::vector<double> before = trained_on(share);
  shard.has_held_out = true;
  share.assign(shard);
  CHECK(trained_on(share) == before);
}

TEST_CASE("After any joins and leaves every row is trained on by exactly one node") {
  const Folder folder("shares");
  for (const Partition::Kind kind : kPartitions) {
    DataOptions options = options_of(kind);
    options.path = folder.write("a.csv", table(300));
    const auto data = load_shared(options);
    std::vector<Node> nodes;
    const std::vector<NodeId> everyone = shard_of(8, 0).members;
    for (std::size_t i = 0; i < everyone.size(); ++i)
      nodes.push_back(keeper(
          options, [&](const Rows& rows) { return reread(options, data->train_hash, rows); }));
    Prng prng(4);
    for (int change = 0; change < 12; ++change) {
      std::vector<NodeId> members;
      for (const NodeId node : everyone)
        if (prng.below(3)) members.push_back(node);
      std::vector<double> rows;
      for (const NodeId node : members) {
        Share& share =
            nodes[static_cast<std::size_t>(std::ranges::find(everyone, node) - everyone.begin())]
                .share;
        share.assign(shard_among(members, node));
        share.refresh();
        const std::vector<double> seen = trained_on(share);
        for (std::size_t i = 0; i < seen.size(); i += 2) rows.push_back(seen[i]);
      }
      std::ranges::sort(rows);
      CHECK(rows.size() == (members.empty() ? 0 : 300));
      CHECK(std::ranges::adjacent_find(rows) == rows.end());
    }
  }
}

TEST_CASE("A join has no row read again and a leave does not stop the training") {
  const Folder folder("share-join");
  DataOptions options = options_of(Partition::Kind::iid);
  options.path = folder.write("a.csv", table(500));
  const auto data = load_shared(options);
  Node node = keeper(options, [&](const Rows& rows) { return subset(data->train, rows); });
  for (std::size_t count = 2; count < 9; ++count) {
    node.share.assign(shard_of(count, 0));
    node.share.refresh();
  }
  CHECK(node.shelf->requests == 0);
  const std::vector<double> before = trained_on(node.share);
  node.shelf->is_slow = true;
  node.share.assign(shard_of(2, 0));
  CHECK_FALSE(node.share.refresh());
  CHECK(trained_on(node.share) == before);
  CHECK(node.share.description().ends_with("part 0/8)"));
  node.shelf->is_slow = false;
  CHECK(node.share.refresh());
  CHECK_FALSE(node.share.refresh());
  CHECK(trained_on(node.share).size() > before.size());
  CHECK(node.share.description().ends_with("part 0/2)"));
}

TEST_CASE("A file that is gone or has changed is named and the node trains on with what it has") {
  const Folder folder("share-gone");
  DataOptions options = options_of(Partition::Kind::iid);
  options.path = folder.write("a.csv", table(500));
  const auto data = load_shared(options);
  Node node =
      keeper(options, [&](const Rows& rows) { return reread(options, data->train_hash, rows); });
  node.share.assign(shard_of(8, 0));
  node.share.refresh();
  const std::vector<double> before = trained_on(node.share);
  const auto note_after = [&](const std::function<void()>& damage) {
    damage();
    node.share.assign(shard_of(2, 0));
    CHECK(node.share.refresh());
    CHECK(trained_on(node.share) == before);
    REQUIRE(node.share.notes().size() == 1);
    CHECK(node.share.notes()[0].find(options.path) != std::string::npos);
    return node.share.notes()[0];
  };
  CHECK(note_after([&] { folder.write("a.csv", table(501)); }).ends_with("read it first"));
  // A column's order is no part of the hash.
  CHECK(note_after([&] {
          std::string swapped = "word,number,y\n";
          for (int r = 0; r < 500; ++r)
            swapped += fmt::format("{},{}.5,{}\n", r % 3 ? "a" : "b", r, r % 7 ? "yes" : "no");
          folder.write("a.csv", swapped);
        }).find("other columns") != std::string::npos);
  CHECK(note_after([&] {
          std::filesystem::remove(options.path);
        }).ends_with("such file or directory"));
  folder.write("a.csv", table(500));
  node.share.assign(shard_of(2, 0));
  CHECK(node.share.refresh());
  CHECK(node.share.notes().empty());
  CHECK(trained_on(node.share).size() > before.size());
}

TEST_CASE("A node without rows keeps all where nothing is held out and evaluates on them") {
  const Folder folder("share-none");
  DataOptions options = options_of(Partition::Kind::contiguous);
  options.path = folder.write("a.csv", table(10));
  const auto data = load_shared(options);
  Node node = keeper(options, [&](const Rows& rows) { return subset(data->train, rows); });
  Share all(data, options);
  for (const std::size_t count : {2, 11, 3, 11}) {
    const optim::Shard shard = shard_of(count, 0);
    all.assign(shard), node.share.assign(shard), node.share.refresh();
    CHECK(node.share.rows().size() == all.rows().size());
    CHECK(node.share.evaluation(0).rows.size() == all.evaluation(0).rows.size());
  }
}

TEST_CASE("Rows of every kind of file are the same when they are read again") {
  const Folder folder("reread");
  const auto word = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
    return bytes;
  };
  std::string images = word(0x803) + word(40) + word(3) + word(3), labels = word(0x801) + word(40);
  std::string sparse;
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 9; ++k) images += static_cast<char>(i + k);
    labels += static_cast<char>(i % 10);
    sparse += fmt::format("{} {}:1 {}:{}.5\n", i % 2, 1 + i % 5, 7 + i % 3, i);
  }
  folder.write("train-images-idx3-ubyte", images);
  folder.write("train-labels-idx1-ubyte", labels);
  const DataOptions files[] = {
      {.source = Source::idx, .path = folder.path()},
      {.source = Source::libsvm, .path = folder.write("a.svm", sparse)},
      {.source = Source::csv, .path = folder.write("a.csv", table(40)), .target = "y"}};
  for (const DataOptions& options : files) {
    const Data data = value_of(load(options));
    const Rows rows{0, 2, 3, 11, static_cast<std::uint32_t>(data.train.rows - 1)};
    const Dataset again = value_of(reread(options, data.train_hash, rows));
    const Dataset expected = subset(data.train, rows);
    CHECK(are_alike(again, data.train));
    CHECK(again.rows == rows.size());
    CHECK(again.labels == expected.labels);
    if (const auto* const bytes = std::get_if<ByteFeatures>(&again.features))
      CHECK(bytes->values == std::get<ByteFeatures>(expected.features).values);
    if (const auto* const entries = std::get_if<SparseFeatures>(&again.features)) {
      CHECK(entries->column == std::get<SparseFeatures>(expected.features).column);
      CHECK(entries->value == std::get<SparseFeatures>(expected.features).value);
    }
    if (const auto* const cells = std::get_if<TableFeatures>(&again.features)) {
      CHECK(cells->numbers == std::get<TableFeatures>(expected.features).numbers);
      CHECK(cells->codes == std::get<TableFeatures>(expected.features).codes);
    }
    CHECK_FALSE(reread(options, data.train_hash + 1, rows));
  }
}
