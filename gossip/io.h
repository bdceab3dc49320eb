// What can happen to a node (Input) and what it can ask for (Output).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gossip/wire/message.h"
#include "optim/job.h"

namespace starling::gossip {

// ---- inputs
struct Tick {};  // time has passed
// One message of two frames as it came from outside. `header` is copied as needed; `body` is kept.
struct Received {
  Plane plane = Plane::control;
  std::span<const std::byte> header;
  Payload body;
};
struct Trained {
  optim::Done done;
};
// The answer to a ConnectProbe where nobody listens: the system there refuses the connection.
struct Refused {
  Endpoint at;
};
// The answer to a ConnectProbe where nothing comes back, neither a connection nor a refusal: the
// host is gone or cut off. The system of a process that is stopped or busy accepts connections for
// it.
struct Unanswered {
  Endpoint at;
};
// The address that the host name of an endpoint stands for, or why there is none.
struct Resolved {
  Endpoint at;
  Endpoint address;
  std::string problem = {};
};
struct JoinCommand {
  Endpoint seed;
};
struct LeaveCommand {};
using Input =
    std::variant<Tick, Received, Trained, Refused, Unanswered, Resolved, JoinCommand, LeaveCommand>;

// ---- outputs
// The driver encodes it (see transfer.h) and sends it, or drops it: nothing relies on arrival.
struct Send {
  Endpoint to;
  Message message;
  std::size_t from = 0;  // of the payload only the bytes from here on; the others have come
};
// No more is sent there soon: the connection may be closed.
struct Hangup {
  Endpoint to;
};
// Looks whether anybody listens there; a connection is no answer.
struct ConnectProbe {
  Endpoint at;
};
// Jobs are done one after another, in order; each is answered by a Trained.
struct Train {
  optim::Job job;
};
// One point of the convergence series: the state after a whole round.
struct Progress {
  std::uint64_t round = 0;
  double time_s = 0;
  double loss = 0;  // of the local step that follows; NaN before the first
  std::optional<double> accuracy, rmse, evaluation_loss;
  std::optional<double> distance;             // consensus distance, estimated
  std::optional<double> distance_to_optimum;  // ||x_i - x*||
  std::uint64_t bytes = 0;                    // sent since the start
};
// Something a person may want to read.
struct Event {
  enum class Kind {
    joined,
    suspected,
    cleared,
    died,
    left,
    edge_opened,
    edge_closed,
    averaged,  // for the first time with that neighbour
    started,
    finished,
    data,  // what of this node's data is not as in the model
    trouble
  };
  Kind kind;
  std::string text;
};
// The node has left, or had to end because of `error`; nothing more comes from it.
struct Stopped {
  std::string error = {};
};
using Output = std::variant<Send, Hangup, ConnectProbe, Train, Progress, Event, Stopped>;
using Outputs = std::vector<Output>;

}  // namespace starling::gossip
