#include "gossip/node/model_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace starling::gossip {
namespace {

// The donor sends its model after its next round.
constexpr Duration kFirstChunkPatience = std::chrono::seconds(1);
constexpr Duration kChunkPatience = std::chrono::seconds(2);
constexpr std::size_t kDonorAttempts = 8;
// A model's round is believed up to twice the round of the members' table, plus this many. Larger:
// a false round lifts the newcomer further. Smaller: if rounds are shorter than the table's delay,
// a newcomer begins some rounds late, and learns the round from its neighbours.
constexpr std::uint64_t kRoundsUntold = 1000;
// Checkpoints whose rounds differ by fewer are of one time. Larger: a node resumes from a model
// that the others have left behind. Smaller: nodes that stopped one by one lose their own states.
constexpr std::uint64_t kCheckpointRounds = 64;

// Members that have to tell the norms of their models before another's is compared with them.
constexpr std::size_t kNormWitnesses = 2;
// Larger: a false model may be longer. Smaller: a model that grew since the others told of theirs
// is refused.
constexpr double kNormRoom = 10;
// The round from which on a norm counts. The norm of a large model is up to ten rounds old, and
// models that begin at 0 grow many times in ten early rounds. Larger: a false model passes for
// longer. Smaller: a newcomer that comes early refuses sound models.
constexpr std::uint64_t kNormRoundLeast = 50;

// The highest round that a model may have. A single record of the members' table may be false too,
// so with several donors the second highest of their rounds counts.
std::uint64_t highest_round(const Roster& members) {
  std::uint64_t highest = 0, second = 0;
  const auto trained = donors(members, 0);
  for (const Member* member : trained) {
    second = std::max(second, std::min(highest, member->round));
    highest = std::max(highest, member->round);
  }
  return 2 * (trained.size() > 1 ? second : highest) + kRoundsUntold;
}

// The round of the latest checkpoint from which another member resumes; 0: none does.
std::uint64_t furthest_resumed(const Roster& members) {
  std::uint64_t furthest = 0;
  for (const Member* member : members.ready())
    if (member->id != members.self() && member->phase == Phase::resumed && members.agrees(*member))
      furthest = std::max(furthest, member->round);
  return furthest;
}

// The other founders that are ready, and so have the common initial model.
std::vector<const Member*> beginners(const Roster& members) {
  std::vector<const Member*> beginners = members.ready();
  std::erase_if(beginners, [&](const Member* member) {
    return member->id == members.self() || !members.agrees(*member);
  });
  return beginners;
}

}  // namespace

std::vector<const Member*> fellows(const Roster& members) {
  std::vector<const Member*> fellows = members.present();
  std::erase_if(fellows, [&](const Member* member) { return !members.agrees(*member); });
  return fellows;
}

std::vector<const Member*> founders(const Roster& members) {
  std::vector<const Member*> founders = fellows(members);
  std::erase_if(founders, [](const Member* member) { return is_relay(*member); });
  return founders;
}

std::vector<const Member*> donors(const Roster& members, std::uint64_t own) {
  if (members.counts().trained == 0) return {};
  std::vector<const Member*> donors = members.ready();
  const std::uint64_t furthest = std::max(own + kCheckpointRounds, furthest_resumed(members));
  std::erase_if(donors, [&](const Member* member) {
    const bool waits = own > 0 && member->phase == Phase::resumed && member->round < furthest;
    return member->id == members.self() || member->round <= own || waits;
  });
  const auto agrees = [&](const Member* member) { return members.agrees(*member); };
  if (std::ranges::any_of(donors, agrees))
    std::erase_if(donors, [&](const Member* member) { return !agrees(member); });
  return donors;
}

bool is_outdated(const Roster& members, std::uint64_t own) {
  return furthest_resumed(members) >= own + kCheckpointRounds;
}

double norm_most(const Roster& members, NodeId donor, std::uint64_t round) {
  std::size_t count = 0;
  double largest = 0;
  for (const Member* member : donors(members, 0)) {
    if (member->id == donor || member->norm == 0) continue;
    if (member->round < kNormRoundLeast || 2 * member->round < round) continue;
    ++count;
    largest = std::max(largest, amount_of(member->norm));
  }
  return count < kNormWitnesses ? std::numeric_limits<double>::infinity() : kNormRoom * largest;
}

ModelSearch::ModelSearch(const Options& options)
    : prng_(Prng::derive(options.seed, node_id(options.name).value ^ 1)) {}

std::vector<const Member*> ModelSearch::candidates(const Roster& members, std::uint64_t own,
                                                   bool asks_founders) const {
  auto candidates = donors(members, own);
  if (candidates.empty() && asks_founders) candidates = beginners(members);
  std::erase_if(candidates,
                [&](const Member* member) { return !can_meet(members.own(), *member); });
  if (candidates.size() > 1)
    std::erase_if(candidates, [&](const Member* member) { return member->id == failed_donor_; });
  // A member that has sent a message exists; a silent one may not.
  const auto is_heard = [&](const Member* member) {
    const Roster::Entry* entry = members.entry(member->id);
    return entry && entry->has_spoken;
  };
  if (attempts_ > 0 && std::ranges::any_of(candidates, is_heard))
    std::erase_if(candidates, [&](const Member* member) { return !is_heard(member); });
  return candidates;
}

bool ModelSearch::is_out_of_reach(const Roster& members, std::uint64_t own) {
  const auto trained = donors(members, own);
  return !trained.empty() && std::ranges::none_of(trained, [&](const Member* member) {
    return can_meet(members.own(), *member);
  });
}

bool ModelSearch::ask(Time now, std::uint64_t own, bool asks_founders, const Roster& members,
                      Outbox& out) {
  const auto candidates = this->candidates(members, own, asks_founders);
  if (candidates.empty()) return false;
  const Member* donor = candidates[prng_.below(candidates.size())];
  donor_ = donor->id;
  donor_name_ = donor->name;
  until_ = now + (kFirstChunkPatience * (1 << std::min<std::size_t>(attempts_, 4)));
  out.send(donor->id, SnapshotRequest{members.own()});
  return true;
}

void ModelSearch::give_up(const Roster& members) {
  if (!donor_) return;
  // A donor that is gone does not count as a failed attempt.
  if (members.find(*donor_)) ++attempts_;
  failed_donor_ = std::exchange(donor_, std::nullopt);
}

bool ModelSearch::is_exhausted() const {
  return attempts_ >= kDonorAttempts;
}

void ModelSearch::end() {
  gave_up_ = is_exhausted();
  attempts_ = 0;
}

void ModelSearch::reject(Time now, const std::string& problem) {
  misfit_ = fmt::format("the model of {} does not fit this node: {}", donor_name_, problem);
  until_ = now + kFirstChunkPatience;
}

void ModelSearch::hears_chunk(Time at) {
  until_ = std::max(until_, at + kChunkPatience);
}

std::optional<std::uint64_t> ModelSearch::round_of(NodeId sender, std::uint64_t round,
                                                   const Roster& members) const {
  if (sender != donor_ && sender != failed_donor_) return std::nullopt;
  return std::min(round, highest_round(members));
}

}  // namespace starling::gossip
