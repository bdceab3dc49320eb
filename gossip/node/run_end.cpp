#include "gossip/node/run_end.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gossip/node/parties.h"
#include "gossip/status.h"

namespace starling::gossip {
namespace {

// News are told so many times before every node knows of an end that is set for later.
constexpr double kSpreads = 5;
// After so many times that news are told, the members' records tell of an evaluation. Larger: of
// evaluations in quick succession fewer count. Smaller: an evaluation is judged by earlier ones.
constexpr double kLossNews = 2;
// For so many agreed rounds one is trained on all rows. Larger: the run ends sooner, and farther
// from their optimum: on five hospitals after 300 rounds 4 gains a fifth of what 2 does.
constexpr std::uint64_t kRoundsOfRefit = 2;
// A gain of the fleet's held-out loss, relative. Smaller: noise puts off the end by stop.patience.
constexpr double kGain = 1e-4;

// The mean of the values without the `liars` highest and lowest ones, or the worst of those. Fewer
// are left out where nothing would be left.
std::optional<double> judged(std::vector<double> values, std::size_t liars, GoalOf of,
                             bool is_high_good) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t out = std::min(liars, (values.size() - 1) / 2);
  if (of == GoalOf::worst) return is_high_good ? values[out] : values[values.size() - 1 - out];
  double sum = 0;
  for (std::size_t k = out; k < values.size() - out; ++k) sum += values[k];
  return sum / static_cast<double>(values.size() - 2 * out);
}

// Whether this node has neighbours, and the rounds of all of them are over: it goes on with nobody.
bool have_ended(const Roster& members, const Neighbors& neighbors) {
  std::size_t count = 0;
  for (const auto& [peer, neighbor] : neighbors.all()) {
    const Member* member = members.find(peer);
    if (member && !has_ended(*member)) return false;
    count += member != nullptr;
  }
  return count > 0;
}

std::uint64_t told_amount(double value) {
  return std::isfinite(value) ? std::max<std::uint64_t>(1, amount_bits(std::max(value, 0.0)))
                              : kAmountMost;
}

// Far enough ahead for all nodes to know of it in time.
std::uint64_t soon(const RunEnd::Own& own, const Roster& members, const Options& options) {
  std::uint64_t furthest = own.round;
  const Parties parties(members, options.needs.liars);
  if (parties.here().size() == 1) return std::max<std::uint64_t>(1, own.round);
  for (const Member* member : parties.here())
    furthest = std::max(furthest, std::min(member->round, own.round + own.round / 8 + 64));
  const double ahead = own.rounds_per_s * kSpreads * seconds(options.timing.news);
  return std::min(furthest + 2 + static_cast<std::uint64_t>(ahead), kRoundLimit);
}

}  // namespace

std::uint64_t RunEnd::told_accuracy(const Evaluation& own) const {
  return asks(options_.goal, JudgedBy::accuracy) && own && own->accuracy
             ? told_amount(*own->accuracy)
             : 0;
}

std::uint64_t RunEnd::told_loss(const Evaluation& own) const {
  const Goal& goal = options_.goal;
  const bool counts = asks(goal, JudgedBy::loss) || goal.keep == GoalKeep::best;
  return counts && own ? told_amount(own->loss) : 0;
}

void RunEnd::judge(const Own& own, const Roster& members, const Neighbors& neighbors) {
  if (reason_.empty() || options_.goal.keep == GoalKeep::best) see(own, members, neighbors);
  vote_for(own, members);
  count_votes(own, members, neighbors);
}

// A neighbour's round is known from its messages before its record tells it.
void RunEnd::see(const Own& own, const Roster& members, const Neighbors& neighbors) {
  std::vector<double> rounds, samples, accuracies, losses;
  const Parties parties(members, options_.needs.liars);
  for (const Member* member : parties.here()) {
    if (is_relay(*member)) continue;
    const bool is_self = parties.is_self(*member);
    const auto near = neighbors.all().find(member->id);
    const std::uint64_t heard = near == neighbors.all().end() ? 0 : near->second.round;
    rounds.push_back(static_cast<double>(is_self ? own.round : std::max(member->round, heard)));
    samples.push_back(static_cast<double>(is_self ? own.samples : member->samples));
    const std::uint64_t accuracy = is_self ? told_accuracy(own.evaluation) : member->accuracy;
    const std::uint64_t loss = is_self ? told_loss(own.evaluation) : member->held_out_loss;
    if (accuracy > 0) accuracies.push_back(amount_of(accuracy));
    if (loss > 0) losses.push_back(amount_of(loss));
  }
  const std::size_t liars = options_.needs.liars;
  const Goal& goal = options_.goal;
  const auto counted = static_cast<double>(own.round - std::min(own.round, own.uncounted));
  progress_.rounds =
      rounds_.are_related() ? counted : judged(rounds, liars, GoalOf::mean, true).value_or(0);
  progress_.seconds = own.seconds;
  progress_.samples =
      judged(samples, liars, GoalOf::mean, true).value_or(0) * static_cast<double>(samples.size());
  progress_.accuracy = judged(accuracies, liars, goal.of, true);
  progress_.loss = judged(losses, liars, goal.of, false);
  progress_.is_budget_spent = own.is_budget_spent;
  count_gain(own);
}

bool RunEnd::gains() const {
  return last_loss_ && (!least_loss_ || *last_loss_ < *least_loss_ * (1 - kGain));
}

// The losses of the others come after this node's own: an evaluation counts once they are there,
// and none that comes before.
void RunEnd::count_gain(const Own& own) {
  if (!own.evaluation || !progress_.loss) return;
  const bool is_told = own.seconds >= judged_at_s_ + kLossNews * seconds(options_.timing.news);
  if (own.evaluation->round != judged_round_ && is_told) {
    judged_at_s_ = own.seconds;
    const bool is_gain = gains();
    if (last_loss_) progress_.stale_evaluations = is_gain ? 0 : progress_.stale_evaluations + 1;
    if (is_gain) least_loss_ = last_loss_, best_round_ = judged_round_;
    judged_round_ = own.evaluation->round;
  }
  last_loss_ = progress_.loss;
}

std::uint64_t RunEnd::best_round() const {
  if (options_.goal.keep == GoalKeep::last) return 0;
  return gains() ? judged_round_ : best_round_;
}

std::optional<std::vector<std::uint64_t>> RunEnd::kept_rounds() const {
  if (options_.goal.keep == GoalKeep::last) return std::nullopt;
  return std::vector{best_round_, judged_round_};
}

std::uint64_t RunEnd::kept_round(std::uint64_t round) const {
  const auto distance_of = [&](std::uint64_t kept) {
    return std::max(kept, round) - std::min(kept, round);
  };
  return distance_of(judged_round_) < distance_of(best_round_) ? judged_round_ : best_round_;
}

void RunEnd::vote_for(const Own& own, const Roster& members) {
  if (!reason_.empty()) return;
  const Goal& goal = options_.goal;
  vote_ = vote(own.uncounted);
  const GoalRow* row = reached_goal(goal, progress_);
  if (!row && !ordered_) return;
  const bool is_due = row && rounds_.are_related() && row->key == "stop.rounds";
  const std::uint64_t now =
      rounds_.are_related() ? soon(own, members, options_) : std::max<std::uint64_t>(1, own.round);
  const std::uint64_t wanted = row || *ordered_ == kSoon ? now : *ordered_;
  if (!is_due) vote_ = vote_ == 0 ? wanted : std::min(vote_, wanted);
  is_target_met_ = row && !row->is_limit;
  reason_ = row ? fmt::format("{} ({})", row->words(row->come_to(progress_).value_or(0)), row->key)
                : std::string(kStoppedByHand);
}

// An end whose reason is known has come.
void RunEnd::take_new_goal(std::uint64_t round) {
  if (!reason_.empty()) return;
  goal_since_ = round;
  vote_ = 0;
  agreed_.reset();
  has_come_ = false;
}

std::uint64_t RunEnd::vote(std::uint64_t uncounted) const {
  const bool is_of_rounds = reason_.empty() && rounds_.are_related();
  return is_of_rounds ? options_.goal.last_round(uncounted).value_or(vote_) : vote_;
}

void RunEnd::count_votes(const Own& own, const Roster& members, const Neighbors& neighbors) {
  std::vector<std::uint64_t> votes;
  if (vote_ > 0) votes.push_back(vote_);
  std::size_t sealed = 0, come = 0;
  const Parties parties(members, options_.needs.liars);
  const auto count = [&](const Member* member) {
    sealed += member->sealed != 0;
    if (member->end_at == 0 || member->round < goal_since_) return;
    votes.push_back(member->end_at);
    come += member->round >= member->end_at;
  };
  for (const Member* member : parties.here())
    if (!parties.is_self(*member)) count(member);
  std::ranges::for_each(parties.gone(), count);
  const std::size_t all = parties.here().size() + parties.gone().size();
  const std::size_t needed = votes_needed(all, options_.needs.liars);
  has_come_ = come >= needed;
  if (votes.size() >= needed) {
    std::ranges::nth_element(votes, votes.begin() + static_cast<std::ptrdiff_t>(needed - 1));
    agreed_ = votes[needed - 1];
  } else if (rounds_.are_related() && options_.goal.last_round(own.uncounted) == vote_) {
    agreed_ = vote_;  // the others may tell theirs later: they have the same goal
  }
  if (!agreed_) return;
  if (!rounds_.are_related() || sealed >= needed || have_ended(members, neighbors))
    is_moment_ = true;
  if (vote_ == 0) vote_ = *agreed_;
  give_reason(own);
}

void RunEnd::give_reason(const Own& own) {
  if (!reason_.empty() || !(is_moment_ || is_reached(own.round, own.uncounted))) return;
  const auto last = rounds_.are_related() ? options_.goal.last_round(own.uncounted) : std::nullopt;
  is_target_met_ = gossip::shortfall(options_.goal, progress_).empty();
  reason_ = last && own.round >= *last
                ? fmt::format("{} rounds (stop.rounds)", options_.goal.rounds)
                : "as the other nodes agreed";
}

std::string RunEnd::reason() const {
  if (reason_.empty() || refit_rounds() == 0) return reason_;
  return fmt::format("{}, and {} more over all rows (data.refit)", reason_, refit_rounds());
}

std::uint64_t RunEnd::refit_rounds() const {
  return options_.refits && agreed_ ? *agreed_ / kRoundsOfRefit + 1 : 0;
}

bool RunEnd::is_over(std::uint64_t round, std::uint64_t uncounted) const {
  if (!agreed_ || is_moment_) return agreed_.has_value();
  return is_reached(round - std::min(round, refit_rounds()), uncounted);
}

// A node that jumped ahead may count other rounds than those who voted.
bool RunEnd::is_reached(std::uint64_t round, std::uint64_t uncounted) const {
  if (!agreed_) return false;
  if (uncounted == 0 || has_come_) return round >= *agreed_;
  const auto last = reason_.empty() ? options_.goal.last_round(uncounted) : std::nullopt;
  return round >= std::max(*agreed_, last.value_or(vote_));
}

std::string RunEnd::shortfall(const Evaluation& own) const {
  if (is_target_met_) return {};
  FleetProgress last = progress_;
  if (own) last.accuracy = own->accuracy, last.loss = own->loss;
  return gossip::shortfall(options_.goal, last);
}

}  // namespace starling::gossip
