// Startup: leads a node through the phases up to a model that it can average with its neighbours.
// No training node waits for a startup. A startup goes on without members that do not come in time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/members/membership.h"
#include "gossip/node/data_share.h"
#include "gossip/node/donor.h"
#include "gossip/node/founder_count.h"
#include "gossip/node/life.h"
#include "gossip/node/model_search.h"
#include "gossip/node/survey_exchange.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Startup {
 public:
  // The references outlive this. `before`: this node's earlier life, to resume; null: none.
  Startup(const Options& options, Time now, Life& life, DataShare& share,
          std::shared_ptr<const Checkpoint> before = nullptr);

  void tick(Time now, const Membership& search, Outbox& out);
  // In phase ready: whether the expected members are ready and the edges to them open, or
  // kLinkPatience has passed, so that the training may begin. Returns to fetching if a donor came
  // back. REQUIRES links computed from these members: links of an older view may be open while new
  // neighbours are still unknown.
  bool may_begin(Time now, const Roster& members, const Links& links);
  Time deadline() const;
  void receive(const Surveys& message, const Envelope& from, const Roster& members, Outbox& out);
  void receive(Time now, const Snapshot& snapshot, Payload payload, const Envelope& from,
               const Roster& members, Outbox& out);
  // Takes the answer to a job of the startup. Returns why the node can never begin; empty: it can.
  std::string trained(Time now, const optim::Done& done, Outbox& out);
  // Starts a job for the copy that the donor needs, if other founders begin with this node's model.
  void want_snapshot(Donor& donor, Outbox& out);

  // Whether the wait for members has ended, so that edges may open.
  bool is_expected() const { return founders_.complete_since().has_value(); }
  // Ready to begin together with other founders, without an adopted model.
  bool is_founding() const { return life_->is_in<phases::Ready>() && origin_ != Origin::donor; }
  // Ready with the model of an earlier life.
  bool is_resumed() const { return life_->has_come_to<phases::Ready>() && origin_ == Origin::own; }
  const optim::Workload& workload() const { return workload_; }
  // The member that was asked for a model and has not sent it yet.
  std::optional<NodeId> donor() const { return awaits_model() ? search_.donor() : std::nullopt; }
  // Reports why the donor's model does not fit this node.
  void hears_misfit(Time now, const std::string& problem);
  // Of the donor's model, where this node begins with one.
  ModelSearch& search() { return search_; }
  // The round of the adopted or resumed model; 0 for the initial one.
  std::uint64_t round() const { return round_; }
  // What the node waits for now, for the status.
  std::string reason() const;
  // Warns of expected members that did not come, and of a model that does not fit.
  std::vector<std::string> warnings(Time now) const;

 private:
  // Whose model the node begins with.
  enum class Origin { foundation, donor, own };

  void enter(Time now, LifePhase phase);
  bool awaits_model() const {
    return life_->is_in<phases::Assigning>() || life_->is_in<phases::Fetching>();
  }
  bool gathered(Time now, const Membership& membership);
  void assign(Time now, const Roster& members, Outbox& out);
  void survey(Time now, const Roster& members, Outbox& out);
  void founded(Time now, const std::string& refusal, Outbox& out);
  void fetch(Time now, const Roster& members, Outbox& out);
  void do_without(Time now, const Roster& members, Outbox& out);
  void adopted(Time now, const optim::Done& done);
  void resume(Time now, Outbox& out);
  std::string resumed(Time now, const optim::Done& done);
  bool is_overtaken(Time now, const Roster& members) const;

  const Options& options_;
  Life* life_;
  DataShare* share_;
  Time next_look_;
  FounderCount founders_;
  ModelSearch search_;
  SurveyExchange surveys_;
  optim::Workload workload_;
  Origin origin_ = Origin::foundation;
  std::uint64_t round_ = 0;
  std::shared_ptr<const Checkpoint> before_;
};

}  // namespace starling::gossip
