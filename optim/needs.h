// Needs: what the algorithm and the settings of training ask of the protocol.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace starling::optim {

// For whom the vector of a round is.
enum class Fanout {
  same,      // for all neighbours
  per_edge,  // for one: each neighbour gets its own, and takes it once
};

// Which vectors of an edge an algorithm needs.
enum class Pairing {
  newest,        // any vector of the neighbour will do; losses are allowed
  exactly_once,  // every pair of vectors is averaged once at both ends, or at neither end
};

// The requirements of an algorithm on the protocol.
struct Needs {
  Fanout fanout = Fanout::same;
  Pairing pairing = Pairing::newest;
  // Two nodes at a time exchange.
  bool is_pairwise = false;
  // With slices: what a node gives is masked among the members of Job::mask_group.
  bool is_masked = false;
  // Vectors are encoded against earlier ones (codec/channel.h): every pair of an edge is handed to
  // the trainer, in order.
  bool in_order = false;
  // Vectors hold sums of all that went over their edge, so that a later one makes up for a lost one
  // and edges may lead one way (combine/running_sums.h). Job::offer_to holds the edges that lead to
  // a peer. Where an edge closes, all nodes begin anew.
  bool sums = false;
  // A node offers its parameters before the local step of a round, so that computing and
  // communicating overlap.
  bool overlaps = false;
  // At the end of a run the models are summed along a tree; else one node's stands for all, since
  // one lie would shift the sum, or since a sum would show what masks hide.
  bool sums_models = true;
  // The part of a full averaging step that a model moves: (1 - share) I + share W. 0: none.
  double mixing_share = 1;
  // So many members may tell the same false round; see gossip/edges/round_check.h.
  std::size_t liars = 1;
};

// An encoding that nodes may choose; see codec/ladder.h.
struct EncodingChoice {
  std::string_view name;
  // How many times less its messages take than those of the first one: a power of two.
  std::size_t shortening = 1;
};

// How many local steps a round has.
struct StepCount {
  std::optional<std::size_t> fixed = 1;  // above 0; nothing: `auto`, the nodes choose
  double exchange_share = 0.1;           // of a node's time, for the exchange with `auto`
  // How many times as many this node takes, above 0; nothing: as many as fit into the time in which
  // it would wait for slower neighbours.
  std::optional<double> pace = 1;

  // Whether a node takes as many steps as others with the same setting.
  bool is_equal() const { return fixed && pace == 1.0; }
};

}  // namespace starling::optim
