// Life: the phases of a node from its start to the end of its training, and the errands between
// rounds. A phase holds the data that exist only in it. A table lists the allowed transitions; any
// other is a bug. To add a phase of a node: a struct and its place in the variant here, a row in
// gossip/node/life.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/time.h"
#include "gossip/status.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

namespace phases {

// Finds the expected members, or finds that no seed answers.
struct Gathering {};
// The trainer takes its share of the data. A newcomer asks for a model meanwhile.
struct Assigning {};
// Founders exchange the statistics of their data, if the model needs them.
struct Surveying {
  std::string refusal = {};  // why no model can be founded on the surveys so far; empty: not tried
};
// The trainer lays the foundation.
struct Founding {
  std::string refusal = {};  // of the previous surveys
};
// Asks a member for its model, or finds that no member has one.
struct Fetching {};
// The trainer takes the model.
struct Adopting {
  int answers = 1;  // awaited from the trainer; 2: it prepares its data first
};
// The trainer goes on from this node's own checkpoint.
struct Resuming {};
// Has a model. Edges may open; waits for the expected members and for edges to them.
struct Ready {};
// The trainer does the jobs of a round.
struct Computing {
  enum class Then { waits, renews, pauses, ends };
  int jobs = 1;  // under way
  Then then = Then::waits;
};
// The offer is made; waits for vectors.
struct Waiting {};
// What edges carry becomes another; see Renewal.
struct Renewing {
  std::optional<Time> renewed = {};  // since when the edges open anew; nothing: not yet
};
struct Paused {};
// The run is over, and no local step begins any more. The last pairs are averaged at both ends.
struct Ending {};
// All models become one; see Settlement.
struct Settling {};
// Has the model of the end. Waits until all present members have it.
struct Sealing {};
struct Finished {};

}  // namespace phases

using LifePhase =
    std::variant<phases::Gathering, phases::Assigning, phases::Surveying, phases::Founding,
                 phases::Fetching, phases::Adopting, phases::Resuming, phases::Ready,
                 phases::Computing, phases::Waiting, phases::Renewing, phases::Paused,
                 phases::Ending, phases::Settling, phases::Sealing, phases::Finished>;

// The properties of a phase, in the order of the variant.
struct PhaseRow {
  std::string_view name;
  Phase told;                    // as other members see it
  State state;                   // as people see it, of a node that is well and does not leave
  bool may_run_errands = false;  // see Errand
  std::span<const std::size_t> after;  // the indices of phases that may follow
};
std::span<const PhaseRow> phase_rows();

// A job outside of the rounds, while the training rests.
enum class Errand {
  none,
  copy,    // of the state, for a newcomer or a checkpoint
  answer,  // a neighbour that waits for a pair, between two rounds
  renew,   // the algorithm begins anew
  settle,  // averages the last pairs of a node that leaves or ends
  unite,   // for Settlement
};

class Life {
 public:
  explicit Life(Time now) : since_(now) {}

  // Whether the table allows it, and no errand runs.
  bool may_enter(const LifePhase& next) const;
  // REQUIRES may_enter(next).
  void enter(Time now, LifePhase next);
  // The data of the phase, if the node is in it; else null.
  template <class P>
  P* in() {
    return std::get_if<P>(&phase_);
  }
  template <class P>
  bool is_in() const {
    return std::holds_alternative<P>(phase_);
  }
  // Whether the phase is that one or comes later in the variant.
  template <class P>
  bool has_come_to() const {
    return phase_.index() >= LifePhase(P()).index();
  }
  const LifePhase& phase() const { return phase_; }
  const PhaseRow& row() const { return phase_rows()[phase_.index()]; }
  Time since() const { return since_; }

  // Whether no job is under way and the phase allows errands.
  bool is_free() const { return row().may_run_errands && errand_ == Errand::none; }
  // REQUIRES is_free().
  void run(Errand errand);
  Errand errand() const { return errand_; }
  // The trainer has answered.
  Errand end_errand() { return std::exchange(errand_, Errand::none); }

 private:
  LifePhase phase_;
  Time since_;
  Errand errand_ = Errand::none;
};

}  // namespace starling::gossip
