// Life: the phases of a node from nothing to the end of its training, and the job of its own that
// the trainer may have while the training rests. A phase holds what exists only in it. Which phase
// may follow which is a table; a step beyond it is a bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/time.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

namespace phases {

// Finds the expected members, or learns that no seed answers.
struct Gathering {};
// The trainer takes its share of the data. A newcomer asks for a model meanwhile.
struct Assigning {};
// Founders exchange the statistics of their data, where the model needs them.
struct Surveying {
  std::string refusal = {};  // why no model can be founded on those so far; empty: none was tried
};
// The trainer lays the foundation.
struct Founding {
  std::string refusal = {};  // of the surveys before these
};
// Asks a member for its model, or finds that there is none to ask.
struct Fetching {};
// The trainer takes the model.
struct Adopting {
  int answers = 1;  // of the trainer, until it has taken it; 2: it prepares its data first
};
// The trainer goes on from this node's own checkpoint.
struct Resuming {};
// Has a model. Edges may open; waits for the expected members and for edges to them.
struct Ready {};
// The trainer does the jobs of a round.
struct Computing {
  enum class Then { waits, pauses, finishes };
  int jobs = 1;  // under way
  Then then = Then::waits;
};
// The offer is made; waits for vectors.
struct Waiting {};
struct Paused {};
struct Finished {};

}  // namespace phases

using LifePhase =
    std::variant<phases::Gathering, phases::Assigning, phases::Surveying, phases::Founding,
                 phases::Fetching, phases::Adopting, phases::Resuming, phases::Ready,
                 phases::Computing, phases::Waiting, phases::Paused, phases::Finished>;

// What is said of a phase, in the order of the variant.
struct PhaseRow {
  std::string_view name;
  Phase told;                          // to other members
  bool may_run_errands = false;        // see Errand
  std::span<const std::size_t> after;  // the phases that may follow, by their place
};
std::span<const PhaseRow> phase_rows();

// A job outside of the rounds, while the training rests.
enum class Errand {
  none,
  copy,    // of the state, for a newcomer or a checkpoint
  answer,  // to a neighbour that waits for a pair, between two rounds
  settle,  // averages the last pairs of a node that leaves
};

class Life {
 public:
  explicit Life(Time now) : since_(now) {}

  // Whether the table allows it, and no errand is run.
  bool may_enter(const LifePhase& next) const;
  // REQUIRES that it may.
  void enter(Time now, LifePhase next);
  // The phase where it is that one, to change what it holds; else null.
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

  // Whether the training rests: no job is under way, and the phase is one for errands.
  bool is_free() const { return row().may_run_errands && errand_ == Errand::none; }
  // REQUIRES is_free().
  void run(Errand errand);
  Errand errand() const { return errand_; }
  // Its answer has come.
  Errand end_errand() { return std::exchange(errand_, Errand::none); }

 private:
  LifePhase phase_;
  Time since_;
  Errand errand_ = Errand::none;
};

}  // namespace starling::gossip
