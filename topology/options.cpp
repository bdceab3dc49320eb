#include "topology/options.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"

namespace starling::topology {
namespace {

constexpr std::array<std::string_view, 14> kNames = {
    "auto",           "ring",        "path",        "star",        "torus",
    "grid",           "complete",    "hypercube",   "exponential", "random",
    "random-regular", "erdos-renyi", "small-world", "file"};
static_assert(kNames.size() == static_cast<std::size_t>(Kind::file) + 1);

}  // namespace

std::string_view to_string(Kind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

void describe(Schema& schema) {
  schema.add({"topology.kind", "auto",
              "who exchanges with whom: auto, ring, path, star, torus, grid, complete, hypercube, "
              "exponential, random, random-regular, erdos-renyi, small-world, file. auto is "
              "complete up to 4 nodes, ring up to 8, random of degree 4 above. Denser graphs agree "
              "in fewer rounds and send more bytes a round; `starling plan` shows both."});
  schema.add(
      {"topology.degree", "4",
       "neighbours of a node (random, random-regular, small-world); even for random and "
       "small-world. Bytes a round grow in proportion; a smaller degree mixes more slowly."});
  schema.add({"topology.probability", "0.1",
              "from 0 to 1. erdos-renyi: of an edge between two nodes, so that the mean degree is "
              "about p(n-1)+2; small-world: of replacing a local edge by a far one. Larger: faster "
              "mixing, for erdos-renyi more bytes; smaller: closer to a ring."});
  schema.add({"topology.file", "",
              "path of the edge list of kind file: two node names a line, # starts a comment. "
              "Edges have no direction."});
  schema.add(
      {"topology.seed", "1",
       "draws the random kinds. Every node of a cluster must have the same, or they disagree "
       "about the edges; no value is better than another."});
}

Options read_options(Reader& reader) {
  const std::size_t before = reader.mistakes().size();
  Options options;
  options.kind = static_cast<Kind>(reader.choice("topology.kind", kNames));
  options.degree = static_cast<int>(reader.integer("topology.degree", 2, kDegreeLimit));
  options.probability = reader.number("topology.probability", 0, 1);
  options.file = reader.text("topology.file");
  options.seed = static_cast<std::uint64_t>(
      reader.integer("topology.seed", 0, std::numeric_limits<std::int64_t>::max()));
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

std::string_view without_comment(std::string_view line) {
  return trim(line.substr(0, line.find('#')));
}

// "a b" -> {"a", "b"}.
std::vector<std::string> words(std::string_view line) {
  std::string spaced(line);
  std::ranges::replace(spaced, '\t', ' ');
  return split(spaced, ' ');
}

}  // namespace

Result<NamedEdges> parse_edges(std::string_view text, std::string_view path) {
  NamedEdges edges;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t stop = std::min(text.find('\n'), text.size());
    const std::string_view line = without_comment(text.substr(0, stop));
    text.remove_prefix(std::min(stop + 1, text.size()));
    if (line.empty()) continue;
    std::vector<std::string> names = words(line);
    if (names.size() != 2)
      return fail("{}:{}: \"{}\" holds {} names; expected two names apart by a blank", path, number,
                  line, names.size());
    if (names[0] == names[1])
      return fail("{}:{}: \"{}\" joins a node with itself; expected two different names", path,
                  number, line);
    if (edges.size() == kEdgesLimit)
      return fail("{}:{}: \"{}\" is one edge too many; expected at most {}", path, number, line,
                  kEdgesLimit);
    edges.emplace_back(std::move(names[0]), std::move(names[1]));
  }
  return edges;
}

}  // namespace starling::topology
