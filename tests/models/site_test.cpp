// Sites with tables of their own: what they agree on, and what they minimise.
#include <cmath>
#include <numeric>

#include "models/nets/model_card.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

template <class S>
using Owned = std::unique_ptr<optim::Objective<S>>;

// Nodes with a table each, founded on the surveys of all.
std::vector<Owned<double>> sites(const std::vector<std::string>& tables, const ModelOptions& model,
                                 const std::function<void(DataOptions&)>& change = {}) {
  const Folder folder("sites");
  std::vector<Owned<double>> nodes;
  std::vector<std::string> surveys;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    DataOptions options = site_options(folder.write(fmt::format("{}.csv", i), tables[i]));
    if (change) change(options);
    nodes.push_back(value_of(make_objective<double>(model, options, load_shared(options))));
    nodes.back()->assign(shard_of(tables.size(), i));
    surveys.push_back(nodes.back()->survey());
  }
  for (Owned<double>& node : nodes)
    if (const auto founded = node->found(surveys); !founded) FAIL(founded.error().text);
  return nodes;
}

// A node of several that are to share one file, which it reads from a file of this text.
Owned<double> sharer(const std::string& text, std::size_t place,
                     const std::function<void(DataOptions&)>& change = {}) {
  const Folder folder("sharer");
  DataOptions options = site_options(folder.write("a.csv", text));
  options.shard.kind = ShardChoice::Kind::automatic;
  if (change) change(options);
  auto node =
      value_of(make_objective<double>({.kind = ModelKind::softmax}, options, load_shared(options)));
  node->assign(shard_of(2, place));
  return node;
}

// What a node of the first file says of a founder of the second; empty: they have one file.
std::string refusal(const std::string& one, const std::string& other) {
  const auto first = sharer(one, 0), second = sharer(other, 1);
  const auto founded = first->found(std::vector{first->survey(), second->survey()});
  return founded ? std::string() : founded.error().text;
}

// Rows of one number and one word, with a class that follows from both.
std::string table(std::size_t rows, std::uint64_t seed,
                  std::initializer_list<const char*> classes) {
  std::string text = "a,w,y\n";
  Prng prng(seed);
  for (std::size_t r = 0; r < rows; ++r)
    text += fmt::format("{},{},{}\n", prng.normal(), r % 2 == 0 ? "p" : "q",
                        *(classes.begin() + prng.below(classes.size())));
  return text;
}

std::string amounts(std::size_t rows, std::uint64_t seed) {
  std::string text = "a,b,y\n";
  Prng prng(seed);
  for (std::size_t r = 0; r < rows; ++r) {
    const double a = prng.normal(), b = prng.normal();
    text += fmt::format("{},{},{}\n", a, b, 3 * a - b + 0.1 * prng.normal());
  }
  return text;
}

// Both as one table.
std::string joined(const std::string& one, const std::string& other) {
  return one + other.substr(other.find('\n') + 1);
}

}  // namespace

TEST_CASE("Sites agree on the classes that only some of them have") {
  const auto nodes =
      sites({table(40, 1, {"ill", "well"}), table(30, 2, {"well", "dead"}), table(20, 3, {"well"})},
            {.kind = ModelKind::softmax});
  for (const auto& node : nodes) {
    CHECK(node->describe().schema == nodes.front()->describe().schema);
    CHECK(node->dimension() == (3 + 1) * 3);
    CHECK(node->describe().notes.front() == "classes of y over all nodes: dead, ill, well");
  }
  // The class of the third site is the last of all: its own bias wants to rise.
  std::vector<double> x(12), gradient(12);
  nodes[2]->loss_and_gradient(x, {}, gradient);
  CHECK(gradient[9] > 0);
  CHECK(gradient[10] > 0);
  CHECK(gradient[11] < 0);
}

TEST_CASE("Founders that are to share one file refuse files that differ") {
  const std::string small = table(40, 1, {"ill", "well"}), large = table(90, 2, {"ill", "well"});
  CHECK(refusal(small, small).empty());
  CHECK(refusal(small, large) ==
        "the file at one node has 40 rows to train on, the file at another 90; data.shard = auto "
        "deals out one file that all nodes have: set data.shard = all at all nodes if each has a "
        "file of its own, or give all nodes the same file");
  CHECK(refusal("a,y\n1,p\n2,q\n3,p\n", "a,y\n1,p\n2,q\n4,p\n")
            .find("the 3 rows to train on at one node are not those at another") == 0);
  CHECK_FALSE(refusal("a,y\n1,p\n2,q\n3,p\n", "a,y\n2,q\n1,p\n3,p\n").empty());
  CHECK_FALSE(refusal("a,y\n1,p\n2,q\n3,p\n", "a,y\n1,p\n2,p\n3,q\n").empty());
}

TEST_CASE("One file is the same whatever the order of its columns and the way it is written") {
  CHECK(refusal("a,b,w,y\n1,5,u,p\n2,6,v,q\n3,,u,p\n", "w;y;b;a\nu;p;5.0;1\nv;q;6;2.00\nu;p;NA;3\n")
            .empty());
  CHECK_FALSE(refusal("a,b,y\n1,5,p\n2,6,q\n3,7,p\n", "a,b,y\n5,1,p\n6,2,q\n7,3,p\n").empty());
}

TEST_CASE("A newcomer says that its file is not the one that the founders share") {
  const std::string small = table(40, 1, {"ill", "well"}), large = table(90, 2, {"ill", "well"});
  for (const bool is_weighted : {false, true}) {
    const auto weigh = [&](DataOptions& options) {
      if (is_weighted) options.weight = Weight::samples;
    };
    const auto founder = sharer(small, 0, weigh);
    REQUIRE(founder->found(std::vector{founder->survey()}));
    CHECK(founder->describe().strangeness.empty());
    const auto late = sharer(large, 1, weigh), fellow = sharer(small, 1, weigh);
    REQUIRE(late->found(std::vector{founder->foundation()}));
    CHECK(late->describe().strangeness.find(
              "the file of this node has 90 rows to train on, the file of the founders 40") == 0);
    CHECK(late->describe().notes.back() == late->describe().strangeness);
    REQUIRE(fellow->found(std::vector{founder->foundation()}));
    CHECK(fellow->describe().strangeness.empty());
  }
}

TEST_CASE("What only the surveys of all sites tell is refused in time") {
  const auto refusal = [](const ModelOptions& model, std::initializer_list<const char*> classes) {
    const Folder folder("refusal");
    const DataOptions options = site_options(folder.write("a.csv", table(60, 1, classes)));
    const auto node = value_of(make_objective<double>(model, options, load_shared(options)));
    node->assign(shard_of(1, 0));
    const auto founded = node->found(std::vector<std::string>{node->survey()});
    REQUIRE(!founded);
    return founded.error().text;
  };
  CHECK(refusal({.kind = ModelKind::logistic}, {"a", "b", "c"}) ==
        "model.kind = logistic tells two classes apart, and target y has 3 (a, b, c); expected "
        "softmax or mlp");
  CHECK(refusal({.kind = ModelKind::softmax}, {"a"}) ==
        "target y has one class, \"a\", at all nodes together; expected at least two");
}

TEST_CASE("Weighted by samples the mean over sites is the mean over all rows") {
  const std::string small = amounts(30, 1), large = amounts(170, 2);
  const auto weigh = [](DataOptions& options) { options.weight = Weight::samples; };
  const ModelOptions model{.kind = ModelKind::linear, .l2 = 0.3};
  const auto nodes = sites({small, large}, model, weigh);
  const auto all = sites({joined(small, large)}, model);
  std::vector<double> x{0.5, -2, 1}, expected(3), mean(3), gradient(3);
  all.front()->loss_and_gradient(x, {}, expected);
  for (const auto& node : nodes) {
    node->loss_and_gradient(x, {}, gradient);
    for (std::size_t i = 0; i < 3; ++i) mean[i] += gradient[i] / 2;
  }
  for (std::size_t i = 0; i < 3; ++i) CHECK(mean[i] == doctest::Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("A weighted site minimises what its weighted gradient is of") {
  const auto weigh = [](DataOptions& options) { options.weight = Weight::samples; };
  const auto nodes = sites({amounts(30, 1), amounts(170, 2)}, {.kind = ModelKind::linear}, weigh);
  for (const auto& node : nodes) {
    const std::vector<double> c{0.3, -0.2, 0.1};
    const double mu = 0.7;
    std::vector<double> x(3), gradient(3);
    REQUIRE(node->minimize(c, mu, x));
    node->loss_and_gradient(x, {}, gradient);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(gradient[i] + c[i] + mu * x[i]) < 1e-9);
  }
}

TEST_CASE("A newcomer founds the same weighted features on the foundation of those who train") {
  const auto weigh = [](DataOptions& options) { options.weight = Weight::samples; };
  const auto nodes = sites({amounts(30, 1), amounts(171, 2)}, {.kind = ModelKind::linear}, weigh);
  const Folder folder("newcomer");
  DataOptions options = site_options(folder.write("a.csv", amounts(67, 3)));
  options.weight = Weight::samples;
  const auto late =
      value_of(make_objective<double>({.kind = ModelKind::linear}, options, load_shared(options)));
  late->assign(shard_of(3, 2));
  REQUIRE(late->found(std::vector<std::string>{nodes.front()->foundation()}));
  CHECK(late->describe().schema == nodes.front()->describe().schema);
  CHECK(late->foundation() == nodes.front()->foundation());
  CHECK(late->describe().shard == "all 67 samples, of weight 0.667");
}

TEST_CASE("Rows of a class that the model was founded without are left out and named") {
  const auto nodes = sites({table(40, 1, {"ill", "well"})}, {.kind = ModelKind::softmax});
  const Folder folder("late-class");
  const DataOptions options =
      site_options(folder.write("a.csv", "a,w,y\n1,p,ill\n2,q,dead\n3,z,well\n4,p,dead\n"));
  const auto late =
      value_of(make_objective<double>({.kind = ModelKind::softmax}, options, load_shared(options)));
  late->assign(shard_of(2, 1));
  CHECK(late->samples() == 4);
  REQUIRE(late->found(std::vector<std::string>{nodes.front()->foundation()}));
  CHECK(late->samples() == 2);
  late->assign(shard_of(2, 1));
  CHECK(late->samples() == 2);
  REQUIRE(late->describe().notes.size() == 3);
  CHECK(late->describe().notes[1] ==
        "rows of class dead are left out: the model was founded without it");
  CHECK(late->describe().notes[2] ==
        "column w: 1 of 3 words are unknown to the model, and count as none of its words");
}

TEST_CASE("Training that starts from a model has its features and its parameters") {
  const auto nodes = sites({table(40, 1, {"ill", "well"})}, {.kind = ModelKind::softmax});
  const Folder folder("from");
  const std::string path = folder.write("a.csv", table(50, 9, {"ill", "well", "well"}));
  const DataOptions options = site_options(path);
  const auto data = load_shared(options);
  const std::vector<std::string> foundation{nodes.front()->foundation()};
  ModelOptions model{.kind = ModelKind::softmax};
  auto start = std::make_shared<TrainedModel>();
  start->card = value_of(make_card(model, options, data->train, foundation));
  start->parameters.resize(nodes.front()->dimension());
  std::iota(start->parameters.begin(), start->parameters.end(), 1.0);
  model.kind = ModelKind::automatic;
  model.start = start;
  const auto node = value_of(make_objective<double>(model, options, data));
  node->assign(shard_of(1, 0));
  REQUIRE(node->found(std::vector<std::string>{node->survey()}));
  CHECK(node->describe().schema == nodes.front()->describe().schema);
  std::vector<double> x(node->dimension());
  node->initialize(x, 1);
  CHECK(x == start->parameters);
  model.kind = ModelKind::mlp;
  CHECK_FALSE(make_objective<double>(model, options, data));
}
