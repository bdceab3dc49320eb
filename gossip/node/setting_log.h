// SettingLog: the changes of agreed settings that the nodes know, and the values that follow from
// them. A user tells one node new values; it puts them down for a round far enough ahead for all
// nodes to know of it. Who learns of a change sends its log on to some others. Logs are merged,
// never cut: each node's record tells a hash of its log, and a node that sees another hash sends
// its own log and asks for theirs. The values of a round follow from the log alone, so that all
// nodes that know the same changes have the same values in the same round; a node that learns of a
// change later takes it with its next round. Own settings of the node take effect at once, and are
// told to nobody. Values by which edges carry something else (form_of()) hold after a Renewal only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/edges/exchange_budget.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"

namespace starling::gossip {

class SettingLog {
 public:
  // Writes what follows into `options`, which outlive this. `kept`: the log of an earlier life.
  SettingLog(Options& options, std::vector<SettingChange> kept)
      : options_(options), changes_(std::move(kept)) {}

  // A user's command, after `round`. `soon`: a round of which all nodes can know in time.
  void set(const ConfigureCommand& command, std::uint64_t round, std::uint64_t soon,
           const Roster& members, Outbox& out);
  // Merges the sender's log, but for changes that its author may not make, or of a round that no
  // node comes to: far above the second highest of the members and `own`, this node's, and above
  // the sender's.
  void receive(const Envelope& from, const SettingChanges& theirs, std::uint64_t own,
               const Roster& members, Outbox& out);
  // Asks a member whose log differs, time and again.
  void tick(Time now, const Roster& members, Outbox& out);
  Time deadline() const { return asking_.next; }
  // Whether members have a log, and this node, a newcomer, has not seen any. It does not wait for
  // longer than kPatience.
  bool is_behind(Time now) const {
    return asking_.differs_since && !has_heard_ && now < *asking_.differs_since + kPatience;
  }

  // Takes the values of that round, which begins, and gives the budget the local steps. Where other
  // members are rounds ahead, and have other edges, their values hold. Returns those of the
  // trainer; null: as before.
  std::shared_ptr<const optim::Options> enter(std::uint64_t round, const Roster& members,
                                              ExchangeBudget& budget, Outbox& out);
  // Whether the edges of other members are others by now, or carry something else, so that none may
  // be open to this node.
  bool has_other_edges(const Roster& members) const;
  // Whether the values of that round need a renewal first; then none of them is taken.
  bool needs_renewal() const { return needs_renewal_; }
  // As enter(), of the same round. REQUIRES needs_renewal(), and that no edge carries anything.
  std::shared_ptr<const optim::Options> renew(ExchangeBudget& budget, Outbox& out);
  // Whether the topology is another than at the last call.
  bool take_new_topology() { return std::exchange(has_new_topology_, false); }
  // The first round with another goal than at the last call.
  std::optional<std::uint64_t> take_new_goal() { return std::exchange(new_goal_, std::nullopt); }

  // For the record of this node; 0: no change is known.
  std::uint64_t hash() const;
  const std::vector<SettingChange>& changes() const { return changes_; }
  SettingsStatus status() const { return {own_, changes_, problem_}; }
  // That this node does not follow a change, or that the log is full.
  std::string warning() const;

 private:
  // Longer: where members do not answer, a newcomer begins later. Shorter: where much is lost, it
  // begins with the values of the start.
  static constexpr Duration kPatience = std::chrono::seconds(10);
  static constexpr std::uint64_t kNoRound = UINT64_MAX;
  using Values = std::map<std::string, std::string>;

  std::uint64_t after_others(std::uint64_t round, std::uint64_t soon) const;
  bool add(const SettingChange& change);
  void spread(const Roster& members, Outbox& out) const;
  std::optional<NodeId> other_log(const Roster& members) const;
  // What one author sets at once.
  struct Step {
    std::string author;
    std::vector<Term> terms;
  };
  struct Outcome {
    Values values;
    std::optional<Reconfigured> next;  // what follows from them; nothing: no step was taken
    std::string problem;               // why a step was left out, the last time; empty: none was
  };
  Outcome follow(std::span<const Step> steps) const;
  // Whether a change that was not taken yet may hold in that round.
  bool has_due(std::uint64_t round) const;
  std::vector<Step> steps_until(std::uint64_t round) const;
  void take(std::uint64_t round, Outbox& out, bool renews = false);
  void put_in_force(const Reconfigured& next, std::uint64_t round);

  Options& options_;
  std::vector<SettingChange> changes_;  // in their order
  std::vector<SettingsStatus::Own> own_;
  std::uint64_t round_ = 0;       // that was entered last
  bool is_new_ = true;            // the log since the last take()
  std::uint64_t due_ = kNoRound;  // of the next change after that
  Values in_force_;
  std::shared_ptr<const optim::Options> training_;  // for the next job
  bool needs_renewal_ = false;
  bool has_new_topology_ = false;
  std::optional<std::uint64_t> new_goal_;
  std::string problem_;
  bool has_heard_ = false;
  // Of the logs of others.
  struct Asking {
    std::optional<Time> differs_since;  // a member's log differs from this node's
    std::uint64_t members_version = 0;  // the roster's version at the last look
    std::optional<NodeId> asked;        // the member to ask
    Time next = kNever;
    Duration pause{};
  } asking_;
};

}  // namespace starling::gossip
