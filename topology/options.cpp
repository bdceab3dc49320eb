#include "topology/options.h"

#include <algorithm>
#include <limits>

#include "base/bindings.h"
#include "base/ids.h"
#include "base/text.h"
#include "topology/kinds.h"
#include "topology/sequence.h"

namespace starling::topology {
namespace {

// In the order of Kind.
const std::vector<std::string_view>& names() {
  static const auto kNames = [] {
    std::vector<std::string_view> names;
    for (const KindRow& row : kinds()) names.push_back(row.name);
    return names;
  }();
  return kNames;
}

// The file's edges; its path may differ by node.
std::string print_edges(const Options& options) {
  NamedEdges edges = options.edges, arcs = options.arcs;
  if (edges.empty() && arcs.empty()) return {};
  for (auto& [a, b] : edges)
    if (b < a) std::swap(a, b);
  std::ranges::sort(edges);
  std::ranges::sort(arcs);
  std::string text;
  for (const auto& [a, b] : edges) text += a + " " + b + "\n";
  for (const auto& [a, b] : arcs) text += a + " -> " + b + "\n";
  return fmt::format("{} edges (#{:08x})", edges.size() + arcs.size(), stable_hash(text) >> 32);
}

// One for each row.
std::vector<std::string> sequence_names() {
  std::vector<std::string> names;
  for (const SequenceRow& row : sequences())
    names.push_back(to_string(SequenceChoice{row.make ? &row : nullptr, row.least}));
  return names;
}

struct SequenceForm {
  void read(Reader& reader, std::string_view name, SequenceChoice& value) const {
    if (const auto sequence = parse_sequence(reader.text(name)))
      value = *sequence;
    else
      reader.mistake(name, sequence.error().text);
  }
  std::string print(const SequenceChoice& value) const { return to_string(value); }
  std::vector<std::string> choices() const { return sequence_names(); }
};

const Bindings<Options>& bindings() {
  constexpr auto agreed = Scope::agreed;
  static const auto kBindings = [] {
    Bindings<Options> all;
    all.bind("topology.kind", &Options::kind, OneOf{names()}, agreed,
             fmt::format("who exchanges with whom: {}. auto is complete up to 4 nodes, ring up to "
                         "8, random of degree 4 above. Denser graphs agree in fewer rounds and "
                         "send more bytes a round; `starling plan` shows both.",
                         fmt::join(names(), ", ")))
        .live()
        .bind("topology.degree", &Options::degree, Whole{2, kDegreeLimit}, agreed,
              "neighbours of a node (random, random-regular, small-world); even for random and "
              "small-world. Bytes a round grow in proportion; a smaller degree mixes more slowly.")
        .live()
        .bind("topology.probability", &Options::probability, Real{0, 1}, agreed,
              "from 0 to 1. erdos-renyi: of an edge between two nodes, so that the mean degree is "
              "about p(n-1)+2; small-world: of replacing a local edge by a far one. Larger: faster "
              "mixing, for erdos-renyi more bytes; smaller: closer to a ring.")
        .live()
        .bind("topology.file", &Options::file, Text{}, agreed,
              "path of the edge list of kind file: two node names a line, # starts a comment. A "
              "number k is short for node-k. "
              "a -> b leads from a to b alone.")
        .agrees_on(print_edges)
        .bind("topology.seed", &Options::seed, Whole{0, std::numeric_limits<std::int64_t>::max()},
              agreed,
              "draws the random kinds. Every node of a cluster must have the same, or they "
              "disagree about the edges; no value is better than another.")
        .live()
        .bind("topology.sequence", &Options::sequence, SequenceForm{}, agreed,
              help_of("which of the edges a round uses. Fewer edges a round send fewer bytes, and "
                      "mix more for each byte; `starling plan` shows both",
                      sequences()) +
                  ".")
        .live();
    return all;
  }();
  return kBindings;
}

}  // namespace

std::string_view to_string(Kind kind) {
  return row_of(kind).name;
}

std::string to_string(const SequenceChoice& sequence) {
  if (!sequence.moves()) return std::string(sequences().front().name);
  if (sequence.size == 0) return std::string(sequence.row->name);
  return fmt::format("{}:{}", sequence.row->name, sequence.size);
}

Result<SequenceChoice> parse_sequence(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto row = std::ranges::find(sequences(), name, &SequenceRow::name);
  if (row == sequences().end() || (row->most == 0 && name != text))
    return fail("expected one of {}", fmt::join(sequence_names(), ", "));
  if (!row->make) return SequenceChoice{};
  if (row->most == 0) return SequenceChoice{.row = &*row};
  const auto size = parse_integer(text.substr(std::min(name.size() + 1, text.size())));
  if (!size || *size < row->least || *size > row->most || (*size - row->least) % row->step != 0)
    return fail("expected {0}:{1} to {0}:{2}{3}", row->name, row->least, row->most,
                row->step > 1 ? fmt::format(", in steps of {}", row->step) : "");
  return SequenceChoice{.row = &*row, .size = static_cast<int>(*size)};
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
  if (const std::string problem = sequence_problem(options); !problem.empty())
    reader.mistake("topology.sequence", problem);
  return options;
}

std::string_view degree_problem(const Options& options) {
  const DegreeRule& rule = row_of(options.kind).degree;
  const bool is_odd = rule.is_even && options.degree % 2 != 0;
  return rule.least > 0 && (options.degree < rule.least || is_odd) ? rule.problem : "";
}

std::string sequence_problem(const Options& options) {
  const SequenceRow* row = options.sequence.row;
  if (!row || row->allows(options.kind)) return {};
  return fmt::format("takes its rounds from other graphs than {}; use topology.kind {}",
                     to_string(options.kind), row->kinds);
}

namespace {

struct ListedEdge {
  std::string from, to;
  bool is_one_way = false;
};

// networkx writes {} after the names.
Result<ListedEdge> parse_edge(std::string_view line) {
  std::string spaced(line);
  std::ranges::replace(spaced, '\t', ' ');
  std::vector<std::string> names = split(spaced, ' ');
  if (names.size() == 3 && names[2] == "{}") names.pop_back();
  const bool is_one_way = names.size() == 3 && names[1] == "->";
  if (names.size() == 3 && (is_one_way || names[1] == "--")) names.erase(names.begin() + 1);
  if (names.size() == 3 && parse_number(names[2]))
    return fail(
        "has a weight; expected two names, for an edge weighs 1 / (1 + the larger degree of its "
        "ends)");
  if (names.size() != 2)
    return fail("holds {} names; expected two names apart by a blank, or by ->", names.size());
  for (std::string& name : names)
    if (parse_integer(name)) name.insert(0, "node-");
  if (names[0] == names[1]) return fail("joins a node with itself; expected two different names");
  return ListedEdge{names[0], names[1], is_one_way};
}

}  // namespace

Result<EdgeList> parse_edges(std::string_view text, std::string_view path) {
  EdgeList list;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t stop = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, std::min(stop, text.find('#'))));
    text.remove_prefix(std::min(stop + 1, text.size()));
    if (line.empty()) continue;
    auto edge = parse_edge(line);
    if (!edge) return fail("{}:{}: \"{}\" {}", path, number, line, edge.error().text);
    if (list.edges.size() + list.arcs.size() == kEdgesLimit)
      return fail("{}:{}: \"{}\" is one edge too many; expected at most {}", path, number, line,
                  kEdgesLimit);
    (edge->is_one_way ? list.arcs : list.edges)
        .emplace_back(std::move(edge->from), std::move(edge->to));
  }
  return list;
}

}  // namespace starling::topology
