// Startup: from nothing to a model that may be averaged with.
//   gathering   find the members one was told to expect, or learn that nobody answers
//   assigning   the trainer takes its share of the data
//   surveying   founders tell each other the statistics of their data, where the model needs them
//   founding    the trainer lays the foundation
//   fetching    a newcomer asks one of those who train for a model, and adopts it
//   ready       others may open edges; waits for the expected members and for its own edges
//   done
// Nobody who trains waits for any of it. What does not come in time is done without.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/members/membership.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Startup {
 public:
  Startup(const Options& options, Time now);

  void tick(Time now, const Membership& search, Outbox& out);
  // From ready to done, once the expected members are ready and the edges to them open; edges have
  // a moment to do so. REQUIRES links that follow from these members: those of an older view may
  // be open while the neighbours to come are not known yet.
  void begin(Time now, const Roster& members, const Links& links);
  Time deadline() const;
  void receive(const Surveys& message, const Envelope& from, const Roster& members, Outbox& out);
  void receive(const Snapshot& snapshot, Payload payload, const Envelope& from,
               const Roster& members, Outbox& out);
  // The answer to a job of the startup.
  void trained(Time now, const optim::Done& done, Outbox& out);

  bool done() const { return stage_ == Stage::done; }
  bool is_ready() const { return stage_ >= Stage::ready; }
  // Waiting for nobody but its neighbours to be, if for them: edges are worth making.
  bool is_expected() const { return expected_since_.has_value(); }
  // Ready to begin with others that have no model of another either.
  bool is_founding() const { return stage_ == Stage::ready && round_ == 0; }
  // Asking others: for members, surveys or a model.
  bool is_joining() const { return stage_ < Stage::ready; }
  const optim::Workload& workload() const { return workload_; }
  // A survey for newcomers to found on; empty where none is needed.
  const std::string& foundation() const { return foundation_; }
  // Whom a model was asked for and has not come from.
  std::optional<NodeId> donor() const { return is_fetching() ? donor_ : std::nullopt; }
  // The donor's model has more numbers than this node's.
  void hears_oversized(Time now);
  // The newest chunk of the donor's model came then, if one did: it is worth waiting for the rest.
  void hears_chunk(std::optional<Time> at);
  // The round of the adopted model; 0 for the initial one.
  std::uint64_t round() const { return round_; }
  // What it does now.
  std::string reason() const;
  // Who of the expected members did not come.
  std::vector<std::string> warnings(Time now) const;

 private:
  enum class Stage { gathering, assigning, surveying, founding, fetching, adopting, ready, done };

  void enter(Time now, Stage stage);
  bool gathered(Time now, const Membership& search) const;
  void assign(Time now, const Roster& members, Outbox& out);
  void assigned(Time now);
  void rejected(Time now, const std::string& trouble);
  bool is_fetching() const { return stage_ == Stage::assigning || stage_ == Stage::fetching; }
  void ask(Time now, const std::vector<const Member*>& candidates, const Roster& members,
           Outbox& out);
  void survey(Time now, const Roster& members, Outbox& out);
  void keep_survey(NodeId of, const std::string& survey, NodeId teller);
  void tell_surveys(Time now, const Roster& members, Outbox& out) const;
  void found(Time now, const Roster& members, Outbox& out);
  void founded(Time now, const optim::Done& done, Outbox& out);
  void fetch(Time now, const Roster& members, Outbox& out);
  bool waits_for_donor(Time now, const Roster& members) const;
  void count(Time now, const Roster& members);
  std::size_t awaited() const;
  bool is_patient(Time now, Time since) const { return now - since < options_.expect_patience; }

  Options options_;
  Prng prng_;
  Time started_;
  Time known_at_;                                // when the last of the expected came
  Time counted_at_;                              // when the last of them came or became ready
  std::size_t most_known_ = 0, most_ready_ = 0;  // so far
  std::size_t known_ = 1, ready_ = 0;            // now
  bool is_short_ = false;                        // goes without some of the expected
  std::uint64_t counted_version_ = 0;            // of the members
  Stage stage_ = Stage::gathering;
  Time stage_since_;
  Time next_try_;
  bool is_assigned_ = false;  // the data are prepared
  optim::Workload workload_;
  std::map<NodeId, std::string> surveys_;
  std::size_t surveys_bytes_ = 0;  // of others
  std::map<NodeId, std::vector<NodeId>>
      held_;  // whose surveys each member said it holds, ascending
  std::string foundation_;
  std::string refusal_;  // why the surveys of all founders cannot be founded on; empty: they can
  std::optional<NodeId> donor_;
  std::optional<NodeId>
      failed_donor_;  // the one before it; asked again only when there is no other
  std::string donor_name_;
  std::string misfit_;        // why its model could not be adopted
  std::size_t attempts_ = 0;  // in a row, of donors that gave nothing
  bool gave_up_ = false;      // asking again
  std::uint64_t round_ = 0;
  std::optional<Time> expected_since_;  // nobody else is waited for
};

}  // namespace starling::gossip
