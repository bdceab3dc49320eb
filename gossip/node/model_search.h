// ModelSearch: which members a node asks for a model, and how long it waits for each. If a donor is
// silent, stops in the middle or does not fit, the node asks another, and waits longer for it,
// because rounds may be long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// Members, self included, with this node's values of the agreed keys.
std::vector<const Member*> fellows(const Roster& members);
// Of these, those with data: they share the data and found the model together.
std::vector<const Member*> founders(const Roster& members);
// The members whose model a newcomer may adopt: those that have trained at least one round. If the
// node has a model of round `own`, only members that train beyond that round, and the furthest of
// those that resume from a later checkpoint. Members that differ in an agreed key count only if no
// other member can give a model, so that settings can be changed one node after the other without
// losing the model.
std::vector<const Member*> donors(const Roster& members, std::uint64_t own);
// Whether a member resumes from a later checkpoint than that of round `own`.
bool is_outdated(const Roster& members, std::uint64_t own);

// The largest norm that a model of that donor and round may have: ten times the largest that two
// other members or more tell of models of no less than half of the round, and of round 50 at least.
// Infinite if fewer tell. One liar among those members can raise the largest norm and cannot lower
// it, so that an honest donor is not refused.
double norm_most(const Roster& members, NodeId donor, std::uint64_t round);

class ModelSearch {
 public:
  explicit ModelSearch(const Options& options);

  // Asks a donor for its model, if there is one: a member that trains beyond round `own`, or else
  // with `asks_founders` a founder that is ready. Returns whether it did.
  bool ask(Time now, std::uint64_t own, bool asks_founders, const Roster& members, Outbox& out);
  // Whether there are donors, and neither they nor this node can be dialled.
  static bool is_out_of_reach(const Roster& members, std::uint64_t own);
  // Whether the donor may still send. A donor that is gone does not.
  bool is_waiting(Time now, const Roster& members) const {
    return donor_ && now < until_ && members.find(*donor_);
  }
  // Gives up the donor, which has sent nothing in time or is gone.
  void give_up(const Roster& members);
  // Whether too many donors in a row gave nothing.
  bool is_exhausted() const;
  // Ends the search; the next one may ask as many donors again.
  void end();
  // Gives up the donor because its model does not fit. The same donor answers again only after a
  // pause.
  void reject(Time now, const std::string& problem);
  void accept() { misfit_.clear(); }
  // A chunk of the donor's model came: waits for the rest.
  void hears_chunk(Time at);

  // The round to adopt from a snapshot of this sender and round, if any. It is limited, because a
  // false round must not make all nodes jump ahead; a node that begins too low learns the round
  // from its neighbours.
  std::optional<std::uint64_t> round_of(NodeId sender, std::uint64_t round,
                                        const Roster& members) const;
  // Whether a donor is back after all were gone, before this node began alone.
  bool may_go_on(const Roster& members, std::uint64_t own) const {
    return failed_donor_ && !gave_up_ && !donors(members, own).empty();
  }
  const std::optional<NodeId>& donor() const { return donor_; }
  // Empty before the first.
  const std::string& donor_name() const { return donor_name_; }
  // Why the donor's model could not be adopted; empty: no problem.
  const std::string& misfit() const { return misfit_; }
  // When the donor is given up.
  Time until() const { return until_; }

 private:
  std::vector<const Member*> candidates(const Roster& members, std::uint64_t own,
                                        bool asks_founders) const;

  Prng prng_;
  Time until_{};
  std::optional<NodeId> donor_;
  std::optional<NodeId> failed_donor_;  // the previous donor; asked again only if there is no other
  std::string donor_name_, misfit_;
  std::size_t attempts_ = 0;  // donors in a row that gave nothing
  bool gave_up_ = false;      // the last search ended without an answer
};

}  // namespace starling::gossip
