// The settings of the cluster's graph: the keys topology.*.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/settings.h"

namespace starling::topology {

// Each has a row in kinds.h.
enum class Kind {
  automatic,
  ring,
  path,
  star,
  torus,
  grid,
  complete,
  hypercube,
  exponential,
  random,
  random_regular,
  erdos_renyi,
  small_world,
  file
};

inline constexpr int kDegreeLimit = 1024;
inline constexpr std::size_t kEdgesLimit = 1'000'000;

using NamedEdges = std::vector<std::pair<std::string, std::string>>;

struct SequenceRow;

// topology.sequence.
struct SequenceChoice {
  const SequenceRow* row = nullptr;  // null: still
  int size = 0;                      // the number after the name; 0: the row has none

  // Whether graphs change from round to round.
  bool moves() const { return row != nullptr; }
};

struct Options {
  Kind kind = Kind::automatic;
  int degree = 4;            // random, random-regular, small-world
  double probability = 0.1;  // erdos-renyi: of an edge; small-world: of a rewiring
  std::string file = {};     // path of the edge list of kind file
  std::uint64_t seed = 1;
  // Of the file: edges both ways, and those that lead from the first to the second name alone. The
  // caller of read_options() fills them.
  NamedEdges edges = {}, arcs = {};
  SequenceChoice sequence = {};
};

// As a user writes it: ring, random-regular, auto.
std::string_view to_string(Kind kind);
std::string to_string(const SequenceChoice& sequence);
// "matching", "base:3". The error says what is expected.
Result<SequenceChoice> parse_sequence(std::string_view text);

void describe(Schema& schema);
// The agreed keys and their values; of the file, its edges.
std::vector<Term> agreed(const Options& options);
// Collects what is wrong with the values in the reader. Leaves `edges` and `arcs` empty.
Options read_options(Reader& reader);

// Why the degree is invalid for any number of nodes; empty if it is not.
std::string_view degree_problem(const Options& options);

// Why the sequence of graphs does not go with the kind; empty if it does.
std::string sequence_problem(const Options& options);

// One edge a line, two names separated by blanks, or "a -> b" for one that leads from a to b alone;
// a number k is short for node-k, and `#` starts a comment. The path is for errors.
struct EdgeList {
  NamedEdges edges = {}, arcs = {};
};
Result<EdgeList> parse_edges(std::string_view text, std::string_view path);

}  // namespace starling::topology
