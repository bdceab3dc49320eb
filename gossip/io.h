// The inputs that a node handles and the outputs that it asks its driver to perform.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/seed_name.h"
#include "gossip/checkpoint.h"
#include "gossip/contact.h"
#include "gossip/options.h"
#include "gossip/trust/revocations.h"
#include "gossip/wire/message.h"
#include "optim/job.h"

namespace starling::gossip {

// ---- inputs
struct Tick {};  // time has passed
// One message of two frames as it came from the network. `header` is only read during the step;
// `payload` is kept. `from`: the node at the other end of the connection; where there are keys it
// has proved its name.
struct Received {
  Plane plane = Plane::control;
  NodeId from = {};
  std::span<const std::byte> header = {};
  Payload payload = {};
};
struct Trained {
  optim::Done done;
};
// The result of a ConnectProbe when no process listens at the address: its system refuses the
// connection. `of`: as in the probe; `at`: the address that was tried.
struct Refused {
  std::optional<NodeId> of;
  Endpoint at;
};
// The result of a ConnectProbe when neither a connection nor a refusal comes back: the host is gone
// or cut off. (For a process that is stopped or busy its system accepts connections.)
struct Unanswered {
  std::optional<NodeId> of;
  Endpoint at;
};
// Whether the node at the address has told its key when it was asked by UDP, by a node that knows
// no key of it. Without one it is not dialled.
struct KeyAsked {
  Endpoint at;
  bool is_answered = false;
};
// The result of looking up a name: of the host name of an Endpoint one address, of a LookUp any
// number; or the problem if there is none.
struct Resolved {
  SeedName at;
  std::vector<Endpoint> addresses;
  std::string problem = {};
};
struct JoinCommand {
  SeedName seed;
};
// The cluster key has revoked names or keys. The list may come from anywhere: it is signed.
struct RevokeCommand {
  Revoked news;
};
struct LeaveCommand {};
// Begin no more rounds until a ResumeCommand. The round under way ends first. A paused node keeps
// its place and its edges, answers newcomers, and the rounds of its neighbours do not wait for it.
struct PauseCommand {};
struct ResumeCommand {};
// Save after the current round; with `fleet` every node saves after the same coming round.
struct CheckpointCommand {
  bool fleet = false;
};
// End the run of the whole fleet after that round; 0: as soon as all nodes can know of it. It is
// this node's vote; see node/run_end.h.
struct StopCommand {
  std::uint64_t at_round = 0;
};
// How far ahead of all others a round may be told. Larger: a false round blocks the next agreement
// for longer. Smaller: a node does not join an agreement of nodes with very short rounds.
inline constexpr std::uint64_t kFarthestAhead = 1 << 16;

// New values of live keys, which Options::reconfigure accepts: of this node's own, from now on; and
// of agreed ones, at all nodes from the same round on.
struct ConfigureCommand {
  std::vector<Term> own = {}, agreed = {};
  std::uint64_t at_round = 0;  // of the agreed ones; 0: as soon as all nodes can know of it
};
// The answer to a Save.
struct Saved {
  std::string problem = {};      // why the checkpoint is not on the disk; empty: it is
  std::uint64_t generation = 0;  // its number there
  std::uint64_t bytes = 0;       // its size there
};
using Input = std::variant<Tick, Received, Trained, Refused, Unanswered, KeyAsked, Resolved,
                           JoinCommand, LeaveCommand, PauseCommand, ResumeCommand,
                           CheckpointCommand, StopCommand, ConfigureCommand, Saved, RevokeCommand>;

// ---- outputs
// From now on the node is reached there; without a name the driver forgets the node. It precedes
// the first Send to the node.
struct Reach {
  NodeId node;
  Contact contact;
};
// The driver encodes the message (see transfer.h) and sends or drops it: nothing relies on arrival.
struct Send {
  NodeId to;
  Message message;
  std::size_t from = 0;  // send the payload from this byte on; the peer has the bytes before
};
// The same to an address: a Join to a place where a node may be, or an answer to a stranger.
// `asker`: that stranger. The answer goes back over the stranger's connection, or to the address
// if there is none. `key`: the public key that the process at the address must prove; empty: not
// known. `of`: the member that gives the address, which the driver may know by another; empty:
// none.
struct Introduce {
  Endpoint to;
  Message message;
  std::optional<NodeId> asker = {};
  std::optional<PublicKey> key = {};
  std::optional<NodeId> of = {};
};
// No message of the plane is sent to the node soon: the driver may close the connection.
struct Hangup {
  NodeId from;
  Plane plane = Plane::control;
};
// The same of an address.
struct Abandon {
  Endpoint at;
};
// Find out whether a process listens at the control address: of the node, or `at` for a stranger.
// The driver answers with Refused or Unanswered, and with nothing if a connection opens or the node
// cannot be dialled.
struct ConnectProbe {
  std::optional<NodeId> of;
  Endpoint at = {};
};
// Find out which addresses the name stands for. The driver answers with one Resolved.
struct LookUp {
  SeedName name;
};
// The driver does the jobs in order, one at a time, and answers each with a Trained.
struct Train {
  optim::Job job;
};
// The driver writes the checkpoint to its disk, in the background, and answers with a Saved. There
// is one at a time.
struct Save {
  Checkpoint checkpoint;
};
// The node knows a later list of revocations: the driver keeps it on its disk, and ends connections
// of certificates that the list revokes.
struct KeepRevocations {
  Revocations list;
};
// One point of the convergence series: the state after a whole round.
struct Progress {
  std::uint64_t round = 0;
  double time_s = 0;
  // Of the local step that follows; NaN before the first, and of a relay.
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> accuracy, rmse, evaluation_loss;
  std::optional<double> distance;             // consensus distance, estimated
  std::optional<double> distance_to_optimum;  // ||x_i - x*||
  std::uint64_t bytes = 0;                    // payload bytes sent since the start

  bool is_evaluated() const { return accuracy || rmse || evaluation_loss; }
};
// An activity of this node, for a trace of the last rounds.
struct Span {
  enum class Kind {
    wait,     // the round waited for vectors; `neighbor` sent the last one, if any came
    receive,  // a vector of `neighbor` was under way
  };
  Kind kind;
  Time from{}, to{};
  std::string neighbor = {};
  std::uint64_t round = 0;
  std::size_t bytes = 0;  // of the vector
};
// A message for people.
struct Event {
  enum class Kind {
    joined,
    suspected,
    cleared,
    died,
    left,
    edge_opened,
    edge_closed,
    averaged,  // for the first time with a neighbour
    started,
    paused,
    resumed,
    ending,  // the run is over
    finished,
    saved,
    exchange,  // what the nodes choose of it changed
    data,      // how this node's data differ from the model, or that it trains on others
    settings,  // which values of settings are new
    problem
  };
  Kind kind;
  std::string text;
};
// No local step counts any more: the driver may cut the steps under way short.
struct EndSteps {};
// The run is over, and nobody present needs this node any more: the driver may tell it to leave.
struct MayEnd {};
// The node has left, or ended because of `error` (empty: left). It gives no more outputs.
struct Stopped {
  std::string error = {};
};
using Output =
    std::variant<Reach, Send, Introduce, Hangup, Abandon, ConnectProbe, LookUp, Train, Save,
                 KeepRevocations, Progress, Span, Event, EndSteps, MayEnd, Stopped>;
using Outputs = std::vector<Output>;

}  // namespace starling::gossip
