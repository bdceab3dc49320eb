// Sequence: graphs that change from round to round, each the same at all nodes that know the same
// members. Each value of topology.sequence has one row, which holds everything that depends on it;
// settings, checks, help and the schedule of rounds read the row. To add a sequence: its class and
// its row in topology/sequence.cpp, a row in docs/algorithms.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/build.h"
#include "topology/graph.h"
#include "topology/options.h"

namespace starling::topology {

// What one vertex exchanges with another in one round.
struct Turn {
  int vertex = 0;              // the other
  double weight = 0;           // in the mixing matrix of the round: above 0, below 1
  bool in = true, out = true;  // whether the other's vector comes, and the own one goes

  bool operator==(const Turn&) const = default;
};

struct SequenceRow;

class Sequence {
 public:
  virtual ~Sequence() = default;

  virtual const SequenceRow& row() const = 0;
  // The turns of every vertex in that round, counted from 0. The weights of the vectors that come
  // to a vertex sum to less than 1; both ends of a turn have the same.
  virtual std::vector<std::vector<Turn>> round(std::uint64_t round) const = 0;
  // Those of one vertex.
  virtual std::vector<Turn> turns(int vertex, std::uint64_t round) const = 0;
  // After so many rounds the same come again; 0: never.
  virtual std::size_t period() const = 0;
  // The factor of a round on the error, with (1 - share) I + share W in place of W: of many periods
  // their root, otherwise the root of the mean of the squares. 0: a period reaches the exact
  // average.
  virtual double modulus(double share) const = 0;
  // The mean number of rounds from a vertex's turn to its next, rounded up, where a vertex without
  // one rests (SequenceRow::rests); otherwise 1.
  virtual std::uint64_t rounds_a_turn() const { return 1; }
};

struct SequenceRow {
  std::string_view name;  // as users write it, followed by ":" and a number if it has one
  std::string_view help;
  int least = 0, most = 0;  // that number; 0: it has none
  int step = 1;             // between two such numbers
  // Factor on the dual step of an exact algorithm, without which the algorithm may diverge.
  double theta = 1;
  // A pair's flow applies to all steps until the node's next pair; otherwise to one round's steps.
  bool spreads_flows = false;
  // A vertex without a turn takes no step either, and is in its next turn's round at once.
  bool rests = false;
  // An outer step with momentum may follow a round; over others it diverges where messages are
  // lost.
  bool bears_momentum = false;
  // The turns follow from the groups of the sites.
  bool is_by_group = false;
  // Gradient tracking of vectors in parts diverges over it above a learning rate of about the
  // spectral gap.
  bool bounds_parts = false;
  // Whether the rounds may be taken from a graph of that kind, and which kinds these are, for
  // people. Null: from any.
  bool (*allows)(Kind kind) = nullptr;
  std::string_view kinds = {};
  // The graph of all edges that rounds use; null: that of topology.kind.
  Graph (*edges)(const Options& options, std::span<const Site> sites) = nullptr;
  // REQUIRES the graph of build(). Null: every round uses the whole graph.
  std::shared_ptr<const Sequence> (*make)(const Options& options, std::span<const Site> sites,
                                          const Graph& graph) = nullptr;
};

// In the order in which help lists them; the first one is still.
std::span<const SequenceRow> sequences();

// The sequence of the options; null: still. REQUIRES the graph of build() of these sites. Where a
// site is hidden, the rounds are matchings of that graph, because other sequences have turns of two
// hidden sites.
std::shared_ptr<const Sequence> sequence_of(const Options& options, std::span<const Site> sites,
                                            const Graph& graph);

// What a sequence of n vertices costs.
struct Traffic {
  double mean_turns = 0;  // vectors that a vertex receives in a round
  int most_turns = 0;
};
Traffic traffic(const Sequence& sequence, int n);

}  // namespace starling::topology
