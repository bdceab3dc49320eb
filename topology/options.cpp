#include "topology/options.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/bindings.h"
#include "base/ids.h"
#include "base/text.h"

namespace starling::topology {
namespace {

constexpr std::array<std::string_view, kKinds> kNames = [] {
  std::array<std::string_view, kKinds> names;
  std::string_view left = kKindNames;
  for (std::string_view& name : names) {
    name = left.substr(0, left.find(", "));
    left.remove_prefix(std::min(name.size() + 2, left.size()));
  }
  return names;
}();
static_assert(kNames.back() == "file" && kKindNames.ends_with(", file"));

// The file's edges; its path may differ by node.
std::string print_edges(const Options& options) {
  NamedEdges edges = options.edges;
  if (edges.empty()) return {};
  for (auto& [a, b] : edges)
    if (b < a) std::swap(a, b);
  std::ranges::sort(edges);
  std::string text;
  for (const auto& [a, b] : edges) text += a + " " + b + "\n";
  return fmt::format("{} edges (#{:08x})", edges.size(), stable_hash(text) >> 32);
}

const Bindings<Options>& bindings() {
  constexpr auto agreed = Scope::agreed;
  static const auto kBindings = [] {
    Bindings<Options> all;
    all.bind("topology.kind", &Options::kind, OneOf{kNames}, agreed,
             fmt::format("who exchanges with whom: {}. auto is complete up to 4 nodes, ring up to "
                         "8, random of degree 4 above. Denser graphs agree in fewer rounds and "
                         "send more bytes a round; `starling plan` shows both.",
                         kKindNames))
        .bind("topology.degree", &Options::degree, Whole{2, kDegreeLimit}, agreed,
              "neighbours of a node (random, random-regular, small-world); even for random and "
              "small-world. Bytes a round grow in proportion; a smaller degree mixes more slowly.")
        .bind("topology.probability", &Options::probability, Real{0, 1}, agreed,
              "from 0 to 1. erdos-renyi: of an edge between two nodes, so that the mean degree is "
              "about p(n-1)+2; small-world: of replacing a local edge by a far one. Larger: faster "
              "mixing, for erdos-renyi more bytes; smaller: closer to a ring.")
        .bind("topology.file", &Options::file, Text{}, agreed,
              "path of the edge list of kind file: two node names a line, # starts a comment. A "
              "number k is short for node-k. "
              "Edges have no direction.")
        .agrees_on(print_edges)
        .bind("topology.seed", &Options::seed, Whole{0, std::numeric_limits<std::int64_t>::max()},
              agreed,
              "draws the random kinds. Every node of a cluster must have the same, or they "
              "disagree about the edges; no value is better than another.");
    return all;
  }();
  return kBindings;
}

}  // namespace

std::string_view to_string(Kind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

void describe(Schema& schema) {
  bindings().describe(schema);
}

std::vector<Term> agreed(const Options& options) {
  return bindings().agreed(options);
}

Options read_options(Reader& reader) {
  const std::size_t before = reader.mistakes().size();
  Options options;
  bindings().read(reader, options);
  if (reader.mistakes().size() > before) return options;
  if (options.kind == Kind::file && options.file.empty())
    reader.mistake("topology.file", "expected the path of an edge list, as topology.kind is file");
  else if (const std::string_view problem = degree_problem(options); !problem.empty())
    reader.mistake("topology.degree", problem);
  return options;
}

std::string_view degree_problem(const Options& options) {
  if (options.kind == Kind::random && (options.degree < 2 || options.degree % 2 != 0))
    return "topology.kind random is made of rings; expected an even number from 2";
  if (options.kind == Kind::small_world && (options.degree < 4 || options.degree % 2 != 0))
    return "topology.kind small-world keeps a ring and rewires the rest; expected an even number "
           "from 4";
  if (options.kind == Kind::random_regular && options.degree < 2)
    return "a graph of degree 1 is not connected; expected a number from 2";
  return {};
}

namespace {

// The names of one edge; networkx writes {} after them.
Result<std::vector<std::string>> parse_edge(std::string_view line) {
  std::string spaced(line);
  std::ranges::replace(spaced, '\t', ' ');
  std::vector<std::string> names = split(spaced, ' ');
  if (names.size() == 3 && names[2] == "{}") names.pop_back();
  if (names.size() == 3 && parse_number(names[2]))
    return fail(
        "has a weight; expected two names, for an edge weighs 1 / (1 + the larger degree of its "
        "ends)");
  if (names.size() == 3 && (names[1] == "->" || names[1] == "--"))
    return fail("has a sign; expected two names apart by a blank, for edges have no direction");
  if (names.size() != 2)
    return fail("holds {} names; expected two names apart by a blank", names.size());
  for (std::string& name : names)
    if (parse_integer(name)) name.insert(0, "node-");
  if (names[0] == names[1]) return fail("joins a node with itself; expected two different names");
  return names;
}

}  // namespace

Result<NamedEdges> parse_edges(std::string_view text, std::string_view path) {
  NamedEdges edges;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t stop = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, std::min(stop, text.find('#'))));
    text.remove_prefix(std::min(stop + 1, text.size()));
    if (line.empty()) continue;
    auto names = parse_edge(line);
    if (!names) return fail("{}:{}: \"{}\" {}", path, number, line, names.error().text);
    if (edges.size() == kEdgesLimit)
      return fail("{}:{}: \"{}\" is one edge too many; expected at most {}", path, number, line,
                  kEdgesLimit);
    edges.emplace_back(std::move((*names)[0]), std::move((*names)[1]));
  }
  return edges;
}

}  // namespace starling::topology
