// Job and Done: a request of the node to the trainer, and the result. Parameters pass through the
// node as payload handles, never as numbers.
//
// One job is, in this order and each part only if asked for:
//   options   values of settings from this job on
//   anew      the algorithm begins anew from the model
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
#include <vector>

#include "base/masks.h"
#include "base/time.h"
#include "optim/edge_vectors.h"
#include "optim/workload.h"

namespace starling::optim {

struct SavedState;  // optim/saved_state.h
struct Options;     // optim/options.h

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

struct Job {
  std::uint64_t round = 0;  // the round whose local step this is
  // Earlier rounds that no node did: the learning rate's schedule does not count them.
  std::uint64_t uncounted = 0;
  // The values of live keys from now on (take_live() in optim/options.h); null: as before.
  std::shared_ptr<const Options> options;
  bool anew = false;
  std::optional<Payload> adopt;
  // The largest ||x|| that such a snapshot may have: what other nodes' models have, and room.
  double adopt_norm_most = std::numeric_limits<double>::infinity();
  std::shared_ptr<const SavedState> resume;
  bool absorb = false;
  bool between = false;  // with `absorb`: the round goes on
  // The ids of this node's edges as of this round, with `absorb` or `offer`; sums are taken in this
  // order. An edge has another id after it closed. An exact algorithm drops its memory of an edge
  // with the id, at both ends.
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

// When the parts of a job ended, by the trainer's clock; a part that was not asked for ends with
// the one before it.
struct Laps {
  Time begun{};
  Time mixed{};      // adopt, resume, absorb, copy, snapshot, save, and describe the model
  Time evaluated{};  // evaluate
  Time stepped{};    // local
  Time encoded{};    // offer
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
