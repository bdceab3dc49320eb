// TallyTree: this node's place in a sum of all models along a tree of edges (the echo algorithm;
// Chang, Echo algorithms, 1982). The root calls its neighbours. A node that is called for the first
// time takes the caller as its parent, and calls its other neighbours. A neighbour has answered
// once it called too, or sent its part. Once all have answered, the mean of the node's model and of
// the parts that came goes to the parent. A node asks again for what it waits for. A sum is named
// by its epoch and its root: the later epoch counts, and of one epoch the root of the higher rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/payload.h"
#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/members/roster.h"
#include "gossip/node/gate.h"
#include "gossip/node/resend_pause.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// How long nodes wait at the end of a run for one that does not answer. Larger: a node that hangs
// holds the others up for longer. Smaller: the model of a slow node is left out of the mean.
inline constexpr Duration kSettlePatience = std::chrono::seconds(8);
// The pause before a question is asked again, in Timing::retry. Larger: where much is lost, the end
// takes longer. Smaller: more small messages.
inline constexpr int kAskPause = 2;

class TallyTree {
 public:
  // What it sees of the node. All outlive it.
  struct Around {
    const Roster& members;
    const Links& links;
    const Gate& gate;
  };
  enum class Stage {
    none,     // in no sum
    gathers,  // the answers of its neighbours
    adds,     // all have answered: its part can be made
    reports,  // waits for the model
  };
  // Which sum, and of which models; see Tally.
  struct Sum {
    std::uint64_t epoch = 0;
    NodeId root = {};
    std::uint64_t round = 0;
  };
  TallyTree(const Options& options, const Around& around);

  Stage stage() const { return stage_; }
  const Sum& sum() const { return sum_; }
  std::optional<NodeId> parent() const { return parent_; }
  // By a hash of the agreed values and the member's id.
  std::uint64_t rank(NodeId id) const;
  bool is_of(const Tally& message) const {
    return message.epoch == sum_.epoch && message.root == sum_.root;
  }
  bool is_later(const Tally& message) const;

  // Whom a node calls. ended: only neighbours whose records tell that they have ended; records come
  // late.
  enum class Calls { nobody, ended, all };
  // Takes part in that sum. If it calls nobody, this node's model alone is the sum.
  void join(Time now, const Sum& sum, std::optional<NodeId> parent, Calls calls, Outbox& out);
  void leave();
  // Leaves the sum. The next sum that this node begins has an epoch after the given one.
  void outdo(std::uint64_t epoch);
  // A message of this sum but a model.
  void receive(Time now, NodeId from, const Tally& message, Payload payload, Outbox& out);
  void tick(Time now, Outbox& out);
  // Whether it has to begin anew: its root is gone, somebody has gone, or nothing moves.
  bool is_stuck(Time now) const;
  // Calls on the peer, to take part too.
  void call(NodeId peer, Outbox& out) const { out.send(peer, message(Tally::Kind::call)); }

  // The parts that came.
  std::vector<optim::ModelMean> parts() const;
  std::vector<NodeId> children() const;
  // The mean of this node's model and the parts is made; it goes to the parent.
  void report(Time now, optim::ModelMean mean, Outbox& out);
  // Whether the peer may answer with the model.
  bool awaits(NodeId peer) const;
  void touch(Time now) { moved_ = now; }
  // When something last came of it.
  Time moved() const { return moved_; }

 private:
  struct Peer {
    bool has_answered = false, has_called = false;
    Time heard{};     // when it was last heard, or called first
    Time next_ask{};  // if this node waits for it
    std::size_t asks = 0;
    optim::ModelMean part = {};  // empty: none came
  };

  Tally message(Tally::Kind kind, std::uint64_t models = 0) const;
  void ask(Time now, NodeId peer, Peer& state, Outbox& out);
  void hear_call(Time now, NodeId from, std::uint64_t models, Outbox& out);
  void send_part(Time now, Outbox& out);
  void gather(Time now);

  const Options& options_;
  Around around_;
  Stage stage_ = Stage::none;
  Sum sum_;
  std::optional<NodeId> parent_;
  std::map<NodeId, Peer> peers_;
  std::uint64_t departures_ = 0;  // as of its start
  Time moved_{};
  optim::ModelMean mean_;
  ResendPause pause_;
};

// Whether a payload of the peer is under way.
bool is_sending(const Gate& gate, NodeId peer, Time now, const Timing& timing);

}  // namespace starling::gossip
