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
#include "gossip/node/member_look.h"
#include "gossip/node/model_fetch.h"
#include "gossip/node/parties.h"
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
  Time deadline() const { return look_.deadline(); }

  // The next job for the trainer, if there is one; its round, evaluation and `seal.within` are the
  // caller's. done() takes what came of it. REQUIRES that jobs are done in turn.
  std::optional<optim::Job> take_job();
  void done(Time now, const optim::Done& done, Outbox& out);

  // The model that this node has ended with, if it has one.
  const EndModel& model() const { return model_; }
  std::uint64_t sealed() const { return model_.hash; }
  // Whether this node has the model and nobody present lacks it, or the patience with them is over;
  // as of the last look at the members.
  bool is_over() const { return is_over_; }
  // What it waits for, for the status; empty: nothing.
  std::string reason() const;
  // Whether most of those that trained together have ended and gone, and nobody present has a
  // model.
  bool is_left_behind() const {
    return sealed() == 0 && Parties(around_.members, options_.needs.liars).are_left_behind();
  }
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

  // Models; 0: none.
  struct Told {
    std::uint64_t by_enough = 0;  // which enough members tell
    std::uint64_t lacked = 0;     // which others tell, and which this node has to take
  };

  std::optional<NodeId> next_root(const Parties& parties) const;
  void drive(Time now, const Parties& parties, Outbox& out);
  void added(Time now, const Payload& mean, Outbox& out);
  void hear_model(NodeId from, const Tally& message, Payload payload);
  void seal(Time now, const Candidate& candidate, std::uint64_t hash, Outbox& out);
  void give(Time now, NodeId to, Outbox& out);
  void refuse(const Candidate& candidate, const std::string& problem, Outbox& out);
  void give_up(const std::string& problem, Outbox& out);
  Told told(const Parties& parties) const;
  bool comes_to_end(Time now, const Parties& parties) const;

  const Options& options_;
  const RunEnd& end_;
  TallyTree::Around around_;
  TallyTree tree_;
  ModelFetch fetch_;
  ResendPause pause_;
  Stage stage_ = Stage::idle;
  MemberLook look_;
  bool is_over_ = false;
  Time since_{};              // when the stage began; over: when the model came
  std::set<NodeId> refused_;  // whose models were refused, or that were silent as roots
  std::size_t refusals_ = 0;
  Work running_ = Work::none;
  std::uint64_t added_epoch_ = 0;  // of the last part that was made, or is
  std::optional<Candidate> candidate_;
  EndModel model_;
  Payload vector_;  // of it
  std::string problem_;
};

}  // namespace starling::gossip
