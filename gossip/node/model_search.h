// ModelSearch: whom a node asks for a model that it can go on from, and how long it waits for each.
// A donor that is silent, stops in the middle or does not fit is given up for another one, and each
// next donor gets more time, since rounds may be long.
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

// Members, self included, with this node's values of the agreed keys: they share the data and found
// the model together.
std::vector<const Member*> fellows(const Roster& members);
// The members whose model a newcomer may adopt: those that have trained at least one round. For a
// node that has a model of its own round `own`, those that train and are beyond that. Members
// that differ in an agreed key count only if no other member can give a model: so settings can be
// changed one node after the other, and the model stays.
std::vector<const Member*> donors(const Roster& members, std::uint64_t own);

class ModelSearch {
 public:
  explicit ModelSearch(const Options& options);

  // Asks a donor for its model, if there is one: a member that trains beyond round `own`, or else
  // with `asks_founders` a founder that is ready. Returns whether it did.
  bool ask(Time now, std::uint64_t own, bool asks_founders, const Roster& members, Outbox& out);
  // Whether the donor may still send. A donor that is gone does not.
  bool is_waiting(Time now, const Roster& members) const {
    return donor_ && now < until_ && members.find(*donor_);
  }
  // The donor has sent nothing in time, or is gone.
  void give_up(const Roster& members);
  // Too many donors in a row gave nothing.
  bool is_exhausted() const;
  // Nobody is asked any more for now; the next search asks as many again.
  void end();
  // The donor's model does not fit this node. The same donor does not answer sooner than after a
  // pause.
  void reject(Time now, const std::string& problem);
  void accept() { misfit_.clear(); }
  // A chunk of the donor's model came: waits for the rest.
  void hears_chunk(Time at);

  // The round that its model has, if a snapshot of this sender and round may be adopted: a false
  // round must not make all nodes jump ahead, and a node that begins too low learns the round from
  // its neighbours.
  std::optional<std::uint64_t> round_of(NodeId sender, std::uint64_t round,
                                        const Roster& members) const;
  // All donors were gone, and one is back before this node began alone.
  bool may_go_on(const Roster& members, std::uint64_t own) const {
    return failed_donor_ && !gave_up_ && !donors(members, own).empty();
  }
  const std::optional<NodeId>& donor() const { return donor_; }
  // Empty before the first.
  const std::string& donor_name() const { return donor_name_; }
  // Why the donor's model could not be adopted; empty: it could.
  const std::string& misfit() const { return misfit_; }
  // When the donor is given up.
  Time until() const { return until_; }

 private:
  std::vector<const Member*> candidates(const Roster& members, std::uint64_t own,
                                        bool asks_founders) const;

  Prng prng_;
  Time until_{};
  std::optional<NodeId> donor_;
  std::optional<NodeId> failed_donor_;  // the donor before; asked again only if there is no other
  std::string donor_name_, misfit_;
  std::size_t attempts_ = 0;  // donors in a row that gave nothing
  bool gave_up_ = false;      // the last search ended for want of an answer
};

}  // namespace starling::gossip
