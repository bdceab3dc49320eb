// Job and Done: a request of the node to the trainer, and the result. Parameters pass through the
// node as payload handles, never as numbers.
//
// One job is, in this order and each part only if asked for:
//   adopt     go on from this snapshot of another node, not from the own state; with `resume`, of
//             which what only the learner reads is taken
//   resume    go on from the state that this node saved in an earlier life
//   absorb    x = offered + sum_j weight_j (theirs_j - own_j), for the round that was offered;
//             own_j is the last offer, or an earlier vector that theirs_j belongs to; unless the
//             job is `between`, the round ends with it
//   back_to   x becomes what it was after an earlier round
//   tally     the mean of x and of the means of other models, which the end of a run sums up
//   seal      x becomes the one model with which a run ends
//   copy      x as it is now, for readers of the shared model
//   snapshot  the state after the previous round, for a newcomer
//   save      the same in full, for this node's next life
//   evaluate  loss and accuracy of x on held-out data
//   local     the local step, or steps, of the algorithm on the own data
//   offer     encode the vector for all neighbours, or one for each
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/masks.h"
#include "base/payload.h"
#include "base/time.h"

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
  // Each node sums one slice of the vector for all (combine/slices.h): a round has two vectors on
  // each edge, the second after a job between the two.
  bool in_slices = false;
  // With slices: what a node gives is masked among the members of Job::mask_group.
  bool is_masked = false;
  // Vectors are encoded against earlier ones (codec/channel.h): every pair of an edge is handed to
  // the trainer, in order.
  bool in_order = false;
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

struct MixTerm {
  NodeId peer;
  // w_ij >= 0; of the terms of the last offer the sum is below 1. With Needs::in_order times theta;
  // 0 for a pair that is only taken note of.
  double weight = 0;
  Payload theirs;  // a whole vector in the format of the run
  // The own vector that theirs is averaged with, of this round or an earlier one. The last offer,
  // known by its address, costs no extra pass. Empty if each neighbour has a vector of its own that
  // is not encoded against earlier ones.
  Payload own = {};
  std::uint64_t edge = 0;  // the life of the edge that it came over; see Job::edges
  // Sum of the learning rates of the local steps since the previous vector on that edge, or more
  // where pairs come at uneven times: the larger of the two ends', so equal at both ends. 0 without
  // steps. With Needs::in_order divided by theta.
  double span = 0;
  std::uint64_t pair = 0;  // the number of the pair on the edge, from 1, with Needs::in_order
  double theta = 1;        // the lesser step that the two ends allow; see codec/quality.h
  // The lesser reach of the two ends; see combine/reach.h. 0: neither tells one. Nothing: the peer
  // does not average this pair, and this node's own reach counts.
  std::optional<double> reach = {};
};

// The two ends of an edge among the nodes that sum slices in a round, with Needs::in_slices.
struct Slot {
  std::uint64_t round = 0;
  std::size_t nodes = 0;            // all, and
  std::size_t hubs = 0;             // those that sum; every node counts them alike
  std::size_t own = 0, theirs = 0;  // places among the hubs; `hubs`: it is none
  NodeId peer = {};                 // the other end

  bool operator==(const Slot&) const = default;
};

// The vector with that number, from 1, on an edge with that life.
struct EdgePlace {
  std::uint64_t edge = 0;
  std::uint64_t number = 0;
  // How far to shorten its message, with exchange.codec = auto; see codec/ladder.h.
  std::size_t shortening = 1;
  Slot slot = {};
};

// The vector of a neighbour who has one of its own.
struct EdgeOffer {
  std::uint64_t edge = 0;
  Payload payload = {};
  std::uint64_t number = 0;  // as in Job::offer_to; 0: none was given
  double theta = 1;          // in [0, 1], as this end allows it; see codec/quality.h
  double quality = 1;        // m of the edge, with this vector; the same
};

// How a codec that remembers does. Plain formats lose nothing that it measures: 1 and 0.
struct CodecReport {
  double quality = 1;            // the mean over the edges
  std::size_t memory_bytes = 0;  // of what is remembered of them
  // The encoding of the last vectors, if these are chosen, and the bytes of one; 0: not known.
  std::string_view chosen = {};
  std::size_t vector_bytes = 0;
};

// Which part of the data is this node's: its place among the members that share one data set.
struct Shard {
  std::vector<NodeId> members;  // in topology order, all that have data
  std::size_t place = 0;        // of this node in `members`; of a relay their number: it holds none
  bool has_held_out = false;    // rows that were held out are dealt too, and trained on

  bool operator==(const Shard&) const = default;
};

struct SavedState;  // optim/saved_state.h

// The mean of so many models, as their numbers lie in memory.
struct ModelMean {
  Payload vector;
  std::uint64_t models = 0;
};

// The model with which a run ends. It is refused if it lies farther from x than `within`, unless
// its content hash is the expected one.
struct Seal {
  Payload vector = {};
  double within = std::numeric_limits<double>::infinity();
  std::uint64_t expected = 0;
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
};

// Whether a node takes as many steps as others with the same setting.
inline bool takes_equal_steps(const StepCount& count) {
  return count.fixed && count.pace == 1.0;
}
// Of the rows of one class: how many there are, and of how many the class is found.
struct Recall {
  std::string name;
  std::size_t rows = 0, found = 0;
};

struct Evaluation {
  std::uint64_t round = 0;
  double loss = 0;
  std::optional<double> accuracy = {};  // fraction, for classification
  std::optional<double> rmse = {};  // root mean square error in units of the target, for regression
  std::size_t samples = 0;          // that it is of; 0: not known
  std::size_t available = 0;        // that it could have been of; 0: not known
  bool is_repeated = false;         // the last one again: nothing was measured since
  // Of a table of two classes: the area under the curve, and of how many pairs of rows it is.
  std::optional<double> area = {};
  double pairs = 0;
  std::optional<Recall> rare = {};  // of the rarest class of a table, where it is rare

  bool is_whole() const { return available > 0 && samples == available; }
};

// A goal of evaluations: the largest loss or the least accuracy; without either it is never
// reached.
struct Target {
  std::optional<double> loss = {}, accuracy = {};

  bool is_reached_by(const Evaluation& evaluation) const {
    return (accuracy && evaluation.accuracy && *evaluation.accuracy >= *accuracy) ||
           (loss && evaluation.loss <= *loss);
  }
};

struct Job {
  std::uint64_t round = 0;  // the round whose local step this is
  // Earlier rounds that no node did: the learning rate's schedule does not count them.
  std::uint64_t uncounted = 0;
  std::optional<Payload> adopt;
  // The largest ||x|| that such a snapshot may have: what other nodes' models have, and room.
  double adopt_norm_most = std::numeric_limits<double>::infinity();
  std::shared_ptr<const SavedState> resume;
  bool absorb = false;
  bool between = false;  // with `absorb`: the round goes on
  // The lives of this node's edges as of this round, with `absorb` or `offer`; sums are taken in
  // this order. What an exact algorithm remembers of an edge ends with its life, at both ends.
  std::vector<std::uint64_t> edges;
  // With Needs::in_order: edges that have ended, whose last pairs may still come; and the edges to
  // offer over. An offer that is not sent is made again, under the same number.
  std::vector<std::uint64_t> ending;
  std::vector<EdgePlace> offer_to;
  // With Needs::is_masked, beside `edges`: who takes part; null: too few.
  std::shared_ptr<const MaskGroup> mask_group;
  std::vector<MixTerm> mix;
  // The round of an evaluation whose model was kept; 0, or another one: x stays.
  std::uint64_t back_to = 0;
  std::optional<std::vector<ModelMean>> tally;
  std::optional<Seal> seal;
  bool copy = false;
  bool snapshot = false;
  bool save = false;
  bool evaluate = false;
  bool whole = false;  // with `evaluate`: on all samples, not on at most eval.samples
  Target target;       // an evaluation of some samples that reaches it is taken again, of all
  // With `evaluate`: its model is kept, and what was kept of other rounds than these is dropped.
  std::optional<std::vector<std::uint64_t>> keeps;
  bool local = false;
  std::size_t local_steps = 1;  // with `local`
  double pace = 1;              // how many times the steps of a node of pace 1 these are
  bool offer = false;
  std::shared_ptr<const Shard> shard;  // the data assignment to use from now on; null: as before
  // The surveys of all founders, own included, in order of member id; once, before any training.
  std::shared_ptr<const std::vector<std::string>> foundation;
};

// A peer's vector that was not mixed, and why: wrong size, not finite, far (combine/reach.h); its
// weight went to self.
struct Rejection {
  NodeId peer;
  std::string reason;
  bool is_known = false;  // what is encoded against it can be decoded all the same
};

struct NeighborDistance {
  NodeId peer;
  double distance = 0;  // ||x_j - x_i||, of the offered vectors
};

// When the parts of a job ended, by the trainer's clock; a part that was not asked for ends with
// the one before it.
struct Laps {
  Time begun{};
  Time mixed{};      // adopt, resume, absorb, copy, snapshot, save, and describe the model
  Time evaluated{};  // evaluate
  Time stepped{};    // local
  Time encoded{};    // offer
};

// What a node's steps so far may have told about one of its samples; see privacy/accountant.h.
struct PrivacySpent {
  std::optional<double> epsilon = {};  // nothing: no bound, for earlier steps had no noise
  // After as many steps more as the last round had, or after one.
  std::optional<double> coming = {};
  double delta = 0;
  std::uint64_t steps = 0;  // with noise, in all lives
};

struct Stats {
  std::uint64_t steps = 0;    // local steps taken by this job
  std::uint64_t samples = 0;  // samples seen by them
  double loss = 0;            // training loss before the (last) local step
  double gradient_norm = 0;
  double learning_rate = 0;  // of each of them
  // Sum of the learning rates of the steps of this job, also where only corrections were added.
  double path = 0;
  double norm = 0;                            // ||x||
  bool loop_moved = false;                    // Report::loop_moved, of this job's steps
  std::optional<PrivacySpent> privacy = {};   // after the steps; nothing without optim.noise
  std::optional<double> distance_to_optimum;  // ||x - x*||, where x* is known
  std::vector<NeighborDistance> distances;    // of this job's mix terms
  std::vector<float> sketch;  // linear random projection of x; empty when not asked for
  Duration compute{};         // local steps and evaluation
  Duration evaluation{};      // of that
  Duration mix{};             // adopt, resume, absorb, save, encode
  Laps laps{};
};

// What the training of a node starts from, for people.
struct Preparation {
  std::optional<double> l2 = {};  // model.l2, or what auto stands for; nothing: not known
  std::string l2_reason = {};     // why auto stands for that
  // Of the node's own held-out rows with a linear model of its own rows alone, of a table; nothing:
  // not known.
  std::optional<Evaluation> alone = {};
};

// The properties of the training that the protocol needs.
struct Workload {
  std::size_t payload_bytes = 0;  // the most of an offered vector; 0 until founded
  std::size_t vector_bytes = 0;   // of an offered vector after the first of an edge; the same
  // Buffers for the neighbours' vectors, if those are numbers as they are in memory; else null.
  TakeBuffer take_buffer = nullptr;
  std::size_t f32_bytes = 0;       // of its numbers in f32; the same
  std::size_t snapshot_bytes = 0;  // the most of a snapshot; 0 until founded
  std::size_t saved_bytes = 0;     // the least of what Job::save gives; 0 until founded
  std::uint64_t schema_hash = 0;   // of everything that must agree for averaging to make sense
  std::string schema;              // the same in words
  std::string survey;              // this node's part of the foundation; empty when none is needed
  std::size_t shard_samples = 0;   // samples this node holds
  std::string shard_description;   // for the status: which samples those are
  // After founding on surveys: the survey that gives newcomers the same features.
  std::string foundation;
  std::vector<std::string> notes;  // for people, about the foundation
  Preparation preparation;
  // After founding: why this node's data and those of the founders are not of one data set, if all
  // nodes are to share one. A node that has not trained before must not adopt the model.
  std::string strangeness;
  // After founding: for late founders, in place of `survey`; empty: the same.
  std::string late_survey;
  // After founding: this node begins with the model of another founder, and does not have it yet.
  bool needs_model = false;
  std::optional<PrivacySpent> privacy = {};  // by steps so far; nothing without optim.noise
};

struct Done {
  std::uint64_t round = 0;
  std::optional<Workload> workload;    // after a job that assigned a shard or laid a foundation
  Payload offer;                       // empty when none was asked for
  std::vector<EdgeOffer> edge_offers;  // in its place, if each neighbour has one of its own
  bool is_offer = false;               // one was asked for
  double reach = 0;                    // told with the offer; see combine/reach.h
  CodecReport codec = {};              // after the offer
  Payload snapshot;                    // the same; see optim/saved_state.h
  std::shared_ptr<const SavedState> saved;  // null when none was asked for
  std::vector<double> copy;                 // the same
  Payload tally;                            // the same
  // The content hash of the model that was sealed: of the names, shapes, types and bytes of its
  // tensors; 0: none was, and `problem` says why.
  std::uint64_t sealed = 0;
  Stats stats;
  std::optional<Evaluation> evaluation;
  std::vector<Rejection> rejections;
  // For people: why a local step of this job or of the last rounds, a model or a foundation was
  // refused. A refusal changes nothing.
  std::optional<std::string> problem;
};

}  // namespace starling::optim
