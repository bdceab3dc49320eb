// Settlement: after the last round all models become one. Their mean is summed up along a tree of
// edges and handed down it (TallyTree). Its root is the member of the highest rank among those
// whose rounds are over. A node takes the model if it lies within the distance that the node saw to
// its neighbours, or if enough members tell the same. When a member dies, nothing moves for a
// while, or the sum lacks a member, the root calls for another epoch; when the root is gone or
// silent, the next one does. From the fifth epoch on, after a refusal, and where sums are not
// allowed (Needs::sums_models), the root's own model is the model. A node that has the model gives
// it to everybody who asks; a late one asks whom the members' records name. If members have ended
// with different models, that of more of them is taken by all. On an edge of the tree two vectors
// travel, on any other edge none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/payload.h"
#include "base/time.h"
#include "gossip/node/model_fetch.h"
#include "gossip/node/run_end.h"
#include "gossip/node/tally_tree.h"
#include "gossip/status.h"

namespace starling::gossip {

class Settlement {
 public:
  // All that it is given outlives this.
  Settlement(const Options& options, const RunEnd& end, const TallyTree::Around& around);

  // The rounds of this node are over, and no pair of its vectors is half averaged.
  void begin(Time now);
  void receive(Time now, NodeId from, const Tally& message, Payload payload, Outbox& out);
  void tick(Time now, Outbox& out);
  Time deadline() const { return next_look_; }

  // The next job for the trainer, if there is one; its round, evaluation and `seal.within` are the
  // caller's. done() takes what came of it. REQUIRES that jobs are done in turn.
  std::optional<optim::Job> take_job();
  void done(Time now, const optim::Done& done, Outbox& out);

  // The model that this node has ended with, if it has one.
  const EndModel& model() const { return model_; }
  std::uint64_t sealed() const { return model_.hash; }
  // Whether this node has the model and nobody present lacks it, or the patience with them is over.
  bool is_over(Time now) const;
  // What it waits for, for the status; empty: nothing.
  std::string reason() const;
  // Whether most of those that trained together have ended and gone, and nobody present has a
  // model.
  bool is_left_behind() const;
  // Why this node ends with a model of its own; empty: it does not.
  const std::string& problem() const { return problem_; }

 private:
  enum class Stage { idle, settles, over };  // over: it has the model, or gave up
  enum class Work { none, tally, seal };
  // A vector that may be the model of the end.
  struct Candidate {
    NodeId from;
    optim::ModelMean model;
    std::uint64_t round = 0;     // see Tally
    std::uint64_t expected = 0;  // see optim::Seal
  };

  std::optional<NodeId> next_root() const;
  // Whether a look at the members is due; then it is taken for done.
  bool take_look(Time now);
  void drive(Time now, Outbox& out);
  void added(Time now, const Payload& mean, Outbox& out);
  void hear_model(NodeId from, const Tally& message, Payload payload);
  void seal(Time now, const Candidate& candidate, std::uint64_t hash, Outbox& out);
  void give(Time now, NodeId to, Outbox& out);
  void refuse(const Candidate& candidate, const std::string& problem, Outbox& out);
  void give_up(const std::string& problem, Outbox& out);
  // The model that so many members tell; 0: none.
  std::uint64_t told_by(std::size_t least) const;
  std::uint64_t lacked() const;

  const Options& options_;
  const RunEnd& end_;
  TallyTree::Around around_;
  TallyTree tree_;
  ModelFetch fetch_;
  ResendPause pause_;
  Stage stage_ = Stage::idle;
  Time next_look_ = kNever;
  Time looked_at_{};       // at the members
  bool is_moved_ = false;  // a message or a job came since
  Time begun_{};
  std::set<NodeId> refused_;  // whose models were refused, or that were silent as roots
  std::size_t refusals_ = 0;
  Work running_ = Work::none;
  std::uint64_t added_epoch_ = 0;  // of the last part that was made, or is
  std::optional<Candidate> candidate_;
  EndModel model_;
  Payload vector_;  // of it
  Time sealed_at_{};
  std::string problem_;
};

}  // namespace starling::gossip
