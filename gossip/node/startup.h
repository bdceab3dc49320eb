// Startup: leads a node to a model that it can average with its neighbours.
//   gathering   finds the expected members, or learns that no seed answers
//   assigning   the trainer takes its share of the data
//   surveying   founders exchange the statistics of their data, if the model needs them
//   founding    the trainer lays the foundation
//   fetching    a newcomer asks a training member for its model, and adopts it; so does a founder
//               that begins with the model of another one, which it asks any founder that has it
//   resuming    a node that has a checkpoint of its own goes on from that where no member has
//               trained beyond it
//   ready       edges may open; waits for the expected members and for edges to them
//   done
// No training node waits for a startup. What does not come in time is done without.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/members/membership.h"
#include "gossip/node/donor.h"
#include "gossip/node/survey_exchange.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Startup {
 public:
  // `before`: this node's life before, to go on from; null: there is none.
  Startup(const Options& options, Time now, std::shared_ptr<const Checkpoint> before = nullptr);

  void tick(Time now, const Membership& search, Outbox& out);
  // Goes from ready to done once the expected members are ready and the edges to them open, or
  // kLinkPatience has passed. REQUIRES links that follow from these members: links of an older view
  // may be open while new neighbours are not known yet.
  void begin(Time now, const Roster& members, const Links& links);
  Time deadline() const;
  void receive(const Surveys& message, const Envelope& from, const Roster& members, Outbox& out);
  void receive(const Snapshot& snapshot, Payload payload, const Envelope& from,
               const Roster& members, Outbox& out);
  // The answer to a job of the startup. Returns why the node cannot begin, now or ever; empty: it
  // can.
  std::string trained(Time now, const optim::Done& done, Outbox& out);
  // If the donor lacks a snapshot of the model that the founders begin with, a job makes one.
  void want_snapshot(Donor& donor, Outbox& out);

  bool done() const { return stage_ == Stage::done; }
  bool is_ready() const { return stage_ >= Stage::ready; }
  // No more members are waited for: the node may open edges.
  bool is_expected() const { return expected_since_.has_value(); }
  // Ready to begin together with other founders, without an adopted model.
  bool is_founding() const { return stage_ == Stage::ready && !has_adopted_; }
  // Ready with the model of an earlier life.
  bool is_resumed() const { return is_ready() && has_resumed_; }
  const optim::Workload& workload() const { return workload_; }
  // The survey that newcomers found on; empty if none is needed.
  const std::string& foundation() const { return foundation_; }
  // The member that was asked for a model and has not sent it yet.
  std::optional<NodeId> donor() const { return is_fetching() ? donor_ : std::nullopt; }
  // The donor's model is larger than this node's.
  void hears_oversized(Time now);
  // `at`: when the newest chunk of the donor's model came, if any: waits for the rest.
  void hears_chunk(std::optional<Time> at);
  // The round of the adopted or resumed model; 0 for the initial one.
  std::uint64_t round() const { return round_; }
  // What the node waits for now, for the status.
  std::string reason() const;
  // Warns of expected members that did not come, and of a model that does not fit.
  std::vector<std::string> warnings(Time now) const;

 private:
  enum class Stage {
    gathering,
    assigning,
    surveying,
    founding,
    fetching,
    adopting,
    resuming,
    ready,
    done
  };

  void enter(Time now, Stage stage);
  bool gathered(Time now, const Membership& search) const;
  void assign(Time now, const Roster& members, Outbox& out);
  void assigned(Time now);
  void rejected(Time now, const std::string& problem);
  bool is_fetching() const { return stage_ == Stage::assigning || stage_ == Stage::fetching; }
  void ask(Time now, const std::vector<const Member*>& candidates, const Roster& members,
           Outbox& out);
  void survey(Time now, const Roster& members, Outbox& out);
  void found(Time now, const Roster& members, Outbox& out);
  void founded(Time now, const optim::Done& done, Outbox& out);
  void adopted(Time now, const optim::Done& done, Outbox& out);
  void fetch(Time now, const Roster& members, Outbox& out);
  std::vector<const Member*> candidates(const Roster& members) const;
  void do_without(Time now, const Roster& members, Outbox& out);
  void resume(Time now, Outbox& out);
  std::string resumed(Time now, const optim::Done& done, Outbox& out);
  std::uint64_t own_round() const { return before_ ? before_->round : 0; }
  bool is_overtaken(Time now, const Roster& members) const;
  bool waits_for_donor(Time now, const Roster& members) const;
  void count(Time now, const Roster& members);
  std::size_t awaited() const;
  bool is_patient(Time now, Time since) const { return now - since < options_.expect_patience; }

  Options options_;
  Prng prng_;
  Time started_;
  Time known_at_;                                // when the last expected member came
  Time counted_at_;                              // when the last member came or became ready
  std::size_t most_known_ = 0, most_ready_ = 0;  // highest so far
  std::size_t known_ = 1, ready_ = 0;            // now
  bool is_short_ = false;                        // goes on without some expected members
  std::uint64_t counted_version_ = 0;            // Roster::version() at the last count
  Stage stage_ = Stage::gathering;
  Time stage_since_;
  Time next_try_;
  bool is_assigned_ = false;  // the data are prepared
  bool copies_ = false;       // the trainer makes a copy of the model
  optim::Workload workload_;
  SurveyExchange surveys_;
  std::string foundation_;
  std::string refusal_;  // why the model cannot be founded on the surveys; empty: it can
  std::optional<NodeId> donor_;
  std::optional<NodeId> failed_donor_;  // the donor before; asked again only if there is no other
  std::string donor_name_;
  std::string misfit_;        // why the donor's model could not be adopted
  std::size_t attempts_ = 0;  // donors in a row that gave nothing
  bool gave_up_ = false;      // asking donors for a model
  std::uint64_t round_ = 0;
  std::shared_ptr<const Checkpoint> before_;
  bool has_adopted_ = false;  // the model of a node that trains
  bool has_resumed_ = false;  // that of its own earlier life
  std::optional<Time> expected_since_;  // since when no more members are waited for
};

}  // namespace starling::gossip
