// What a user says about the graph of the cluster: the keys topology.*.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/settings.h"

namespace starling::topology {

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

struct Options {
  Kind kind = Kind::automatic;
  int degree = 4;            // random, random-regular, small-world
  double probability = 0.1;  // erdos-renyi: of an edge; small-world: of a rewiring
  std::string file = {};     // path of the edge list of kind file
  std::uint64_t seed = 1;
  NamedEdges edges = {};  // what the file says; whoever may read files fills it with parse_edges
};

// As a user writes it: ring, random-regular, auto.
std::string_view to_string(Kind kind);

void describe(Schema& schema);
// The agreed keys and these values of them; of the file, what it says.
std::vector<Term> agreed(const Options& options);
// Collects what is wrong with the values in the reader. Leaves `edges` empty.
Options read_options(Reader& reader);

// What is wrong with the degree whatever the number of nodes; empty when nothing is.
std::string_view degree_problem(const Options& options);

// One edge a line, two names apart by blanks; `#` starts a comment. The path is for the errors.
Result<NamedEdges> parse_edges(std::string_view text, std::string_view path);

}  // namespace starling::topology
