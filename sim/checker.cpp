#include "sim/checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gossip/members/roster.h"
#include "sim/simulation.h"
#include "topology/sequence.h"

namespace starling::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDonorPatience = 3s;      // a joiner waits at least this long for a model
constexpr std::size_t kJobsLimit = 4;        // that a node has under way
constexpr std::size_t kSendsPerMember = 64;  // of one node at one instant
constexpr std::uint64_t kRoundsInStep = 8;   // as of gossip/edges/schedules/rounds.cpp
// Times the mean number of rounds between two turns of a node. That number is geometric: one in
// e^32 exceeds so many times its mean.
constexpr std::uint64_t kTurnsAtMost = 32;
// How long a round may wait beyond the patience of its edges: a node that is ahead of all its
// neighbours waits for a minute (scheduler.cpp).
constexpr Duration kIdleLimit = 61s;
constexpr double kLossCounted = 0.9;       // above it a node may be as well alone
constexpr double kRoundsAhead = 64;        // that one wrong round may be believed,
constexpr double kRoundShare = 8;          // beside so many for each step of the time since
constexpr std::uint64_t kStatusEvery = 8;  // points of progress between two looks at the status

std::vector<std::string> names_of_running(const World& world) {
  std::vector<std::string> names;
  for (std::size_t node : world.running()) names.push_back(name_of(node));
  return names;
}

// In natural order, as running() is.
std::vector<std::string> listed_by(const gossip::Status& status) {
  std::vector<std::string> names;
  for (const gossip::MemberStatus& member : status.members)
    if (member.liveness == gossip::Liveness::alive) names.push_back(member.member->name);
  return names;
}

bool agrees(const gossip::Status& status, const std::vector<std::string>& names) {
  return listed_by(status) == names && status.topology.names() == names;
}

std::uint64_t count_of(const std::map<std::string, std::uint64_t>& counts, const char* reason) {
  const auto found = counts.find(reason);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

Checker::Checker(World& world)
    : world_(&world),
      ledger_(world, [this](std::string law, std::size_t node,
                            std::string what) { violated(std::move(law), node, std::move(what)); }),
      ends_(world, [this](std::string law, std::size_t node,
                          std::string what) { violated(std::move(law), node, std::move(what)); }),
      settings_(world,
                [this](std::string law, std::size_t node, std::string what) {
                  violated(std::move(law), node, std::move(what));
                }),
      seen_(world.options().nodes),
      incarnations_(world.options().nodes) {
  world.observe([this](std::size_t node, const gossip::Output& output) { see(node, output); });
}

Checker::Seen& Checker::seen_of(std::size_t node) {
  Seen& seen = seen_[node];
  if (seen.life != world_->machine(node).life) {
    seen = {};
    seen.life = world_->machine(node).life;
  }
  return seen;
}

void Checker::see_settings(std::size_t node) {
  if (!std::exchange(seen_of(node).has_new_settings, false)) return;
  const gossip::Status status = world_->status(node);
  seen_of(node).schedule = gossip::schedule_named(status.schedule);
  seen_of(node).topology = status.topology.options;
}

const gossip::ScheduleRow& Checker::schedule_of(std::size_t node) {
  const gossip::ScheduleRow* changed = seen_of(node).schedule;
  return changed ? *changed : *world_->options().base.schedule;
}

const topology::SequenceChoice& Checker::sequence_of(std::size_t node) {
  const auto& changed = seen_of(node).topology;
  return changed ? changed->sequence : world_->options().base.topology.sequence;
}

void Checker::see(std::size_t node, const gossip::Output& output) {
  ends_.see(node, output);
  settings_.see(node, output);
  if (const auto* send = std::get_if<gossip::Send>(&output)) {
    see(node, send->message);
    if (const auto* round = std::get_if<gossip::Round>(&send->message.body);
        round && !send->message.payload.empty()) {
      std::uint64_t& last = seen_of(node).told[send->to];
      last = std::max(last, round->round);
    }
    ledger_.see(node, *send);
  } else if (const auto* introduce = std::get_if<gossip::Introduce>(&output)) {
    see(node, introduce->message);
  } else if (const auto* train = std::get_if<gossip::Train>(&output)) {
    see(node, train->job);
    ledger_.see(node, *train);
  } else if (const auto* event = std::get_if<gossip::Event>(&output)) {
    // It may begin alone where nobody is left to ask, even if some come back after that.
    using Kind = gossip::Event::Kind;
    if (event->kind == Kind::started && !knows_donor(node)) seen_of(node).asked.reset();
    if (event->kind == Kind::edge_opened || event->kind == Kind::edge_closed)
      ++seen_of(node).changes;
    if (event->kind == Kind::settings) seen_of(node).has_new_settings = true;
  } else if (const auto* progress = std::get_if<gossip::Progress>(&output)) {
    see(node, *progress);
    ledger_.see(node, *progress);
  }
}

void Checker::see(std::size_t node, const gossip::Progress& progress) {
  Seen& seen = seen_of(node);
  if (progress.round < seen.round)
    violated("rounds go forward", node,
             fmt::format("round {} after round {}", progress.round, seen.round));
  seen.round = progress.round;
  see_pace(node, progress.round);
  expect_finite(node);
  if (seen.points++ % kStatusEvery == 0) see_status(node);
}

// Where nodes rest between their turns, so many turns and kTurnsAtMost more: nodes are in the round
// of their next turn at once.
std::uint64_t Checker::rounds_in_step(std::size_t node) {
  const topology::SequenceChoice& sequence = sequence_of(node);
  if (!sequence.moves() || !sequence.row->rests) return kRoundsInStep;
  const auto drawn = static_cast<std::uint64_t>(sequence.size);
  return (kRoundsInStep + kTurnsAtMost) * ((world_->options().nodes + drawn - 1) / drawn);
}

// Of a wrong round a node believes only what could be, and everybody goes on from there.
void Checker::see_pace(std::size_t node, std::uint64_t round) {
  const sim::FaultCounts counts = world_->fault_counts();
  const std::uint64_t lives = world_->options().nodes + counts.restarted;
  const bool is_in_step = schedule_of(node).goes_in_step();
  if (is_in_step && counts.forged == 0 && round > stepped_.size() + lives + rounds_in_step(node))
    violated("rounds mean steps", node,
             fmt::format("round {}, and somebody took a step in {}", round, stepped_.size()));
  const double step = seconds(world_->options().compute) * least_slowness_;
  if (step <= 0) return;
  const double elapsed = seconds(world_->now() - Time{});
  const double forged = static_cast<double>(counts.forged);
  const double turns = (1 + forged) * (kRoundsAhead + kRoundShare * elapsed / step);
  const double most = turns * static_cast<double>(rounds_in_step(node) / kRoundsInStep);
  if (static_cast<double>(round) > most)
    violated(
        "rounds stay believable", node,
        fmt::format("round {} after {:.0f} s and {:.0f} forged frames", round, elapsed, forged));
}

void Checker::see(std::size_t node, const gossip::Message& message) {
  Seen& seen = seen_of(node);
  const gossip::Envelope& envelope = message.envelope;
  std::uint64_t& highest = incarnations_[node];
  const bool is_fresh = seen.sequence == 0;  // the first word of this life
  // One that outdid a forged incarnation has not kept that on its disk.
  if (is_fresh && world_->fault_counts().forged > 0) highest = envelope.incarnation - 1;
  if (is_fresh ? envelope.incarnation <= highest : envelope.incarnation < highest)
    violated("incarnations go forward", node,
             fmt::format("incarnation {} after {}", envelope.incarnation, highest));
  if (envelope.incarnation == highest && envelope.sequence <= seen.sequence)
    violated("incarnations go forward", node,
             fmt::format("sequence {} after {}", envelope.sequence, seen.sequence));
  highest = envelope.incarnation;
  seen.sequence = envelope.sequence;
  if (seen.instant != world_->now()) seen.sends = 0;
  seen.instant = world_->now();
  if (++seen.sends > kSendsPerMember * (world_->options().nodes + 1))
    violated("queues are bounded", node, "it sends without end at one instant");
  if (std::holds_alternative<gossip::SnapshotRequest>(message.body)) seen.asked = world_->now();
  if (const auto* round = std::get_if<gossip::Round>(&message.body))
    see(node, *round, message.payload);
}

void Checker::see(std::size_t node, const gossip::Round& round, const Payload& vector) {
  Seen& seen = seen_of(node);
  if (round.round >= seen.offer_round && !vector.empty()) seen.offered = address_of(vector);
  if (seen.asked && !vector.empty() && world_->now() - *seen.asked < kDonorPatience &&
      knows_donor(node))
    violated("a joiner contributes late", node, "offers a vector before the model it asked for");
}

// Whether it knows of another whose model is worth asking for: one that has trained a round. Two
// that lost sight of all such, and are ready to begin together, are no donors of each other.
bool Checker::knows_donor(std::size_t node) const {
  return std::ranges::any_of(world_->machine(node).members->others(), [](const auto& entry) {
    const gossip::Member& member = entry->member;
    return entry->liveness == gossip::Liveness::alive && member.round > 0 &&
           (member.phase == gossip::Phase::training || member.phase == gossip::Phase::paused);
  });
}

void Checker::see(std::size_t node, const optim::Job& job) {
  if (job.adopt) seen_of(node).asked.reset();
  if (job.shard) seen_of(node).shard = job.shard;
  if (job.local) see_settings(node);
  seen_of(node).last_job = world_->now();
  see_step(node, job);
  see_weights(node, job);
  if (job.offer) seen_of(node).offer_round = job.round, seen_of(node).offered = nullptr;
  if (world_->machine(node).jobs_in_flight > kJobsLimit)
    violated("queues are bounded", node,
             fmt::format("{} jobs under way", world_->machine(node).jobs_in_flight));
}

void Checker::see_weights(std::size_t node, const optim::Job& job) {
  const gossip::ScheduleRow& schedule = schedule_of(node);
  const bool is_pairwise = schedule.is_pairwise || schedule.is_in_slices;
  const bool moves = sequence_of(node).moves();
  std::map<std::uint64_t, double> last;  // by edge
  std::uint64_t last_round = 0;          // of those, where the graph changes from round to round
  for (const optim::MixTerm& term : job.mix) {
    if (!(term.weight >= 0))
      violated("weights are convex", node, fmt::format("an edge of weight {}", term.weight));
    // A late pair, or a pair of a pairwise schedule, is averaged with an earlier own vector. After
    // a round without a step two rounds have one vector: only the last pair of an edge counts, and
    // where the rounds have other edges only the pairs of the last round.
    const std::byte* own = address_of(term.own);
    if (!own || own != seen_of(node).offered || is_pairwise) continue;
    const std::uint64_t round = moves ? seen_of(node).told[term.peer] : 0;
    if (round > last_round) last.clear(), last_round = round;
    if (round == last_round) last[term.edge] = term.weight;
  }
  double sum = 0;
  for (const auto& [edge, weight] : last) sum += weight;
  if (!(sum < 1))
    violated("weights are convex", node, fmt::format("edges of weight {} altogether", sum));
}

// What is forged may close the edge to the only neighbour.
void Checker::see_step(std::size_t node, const optim::Job& job) {
  Seen& seen = seen_of(node);
  const gossip::Options& options = world_->options().base;
  least_slowness_ = std::min(least_slowness_, world_->machine(node).slowness);
  if (job.local) stepped_.insert(job.round);
  const gossip::ScheduleRow& schedule = schedule_of(node);
  const bool may = options.alone == gossip::Alone::train || schedule.is_pairwise;
  if (may || !job.mix.empty() || !has_company(node)) seen.alone = seen.changes = 0;
  if (may || !job.local || !job.mix.empty()) return;
  double most = static_cast<double>(2 * kRoundsInStep + options.staleness + seen.changes);
  if (sequence_of(node).moves()) most *= static_cast<double>(world_->options().nodes);
  const double arrives = 1 - std::min(world_->network().options().loss, kLossCounted);
  if (static_cast<double>(++seen.alone) <= most / (arrives * arrives)) return;
  if (world_->network().is_held(world_->now(), node))
    seen.alone = seen.changes = 0;
  else
    violated("nobody trains alone unasked", node,
             fmt::format("{} steps since it averaged with anybody", seen.alone));
}

// Whether it has reason to wait for somebody; who has finished averages no more, and who was paused
// by a person is not waited for.
bool Checker::has_company(std::size_t node) const {
  if (world_->fault_counts().forged > 0 || world_->options().lie->is_told()) return false;
  const auto& others = world_->machine(node).members->others();
  const auto rests = [](const auto& entry) {
    const gossip::Phase phase = entry->member->phase;
    return phase == gossip::Phase::finished || phase == gossip::Phase::paused;
  };
  return std::ranges::none_of(others, rests) && std::ranges::any_of(others, [](const auto& entry) {
           return entry->liveness != gossip::Liveness::left && !is_relay(entry->member) &&
                  entry->member->phase != gossip::Phase::joining;
         });
}

void Checker::see_status(std::size_t node) {
  Seen& seen = seen_of(node);
  const gossip::Status status = world_->status(node);
  if (status.topology.epoch < seen.epoch)
    violated("rounds go forward", node,
             fmt::format("topology epoch {} after {}", status.topology.epoch, seen.epoch));
  seen.epoch = status.topology.epoch;
  see_damage(node, status);
  if (status.members.size() > world_->options().nodes ||
      status.edges.size() > world_->options().nodes)
    violated("queues are bounded", node,
             fmt::format("{} members and {} edges", status.members.size(), status.edges.size()));
  if (status.state == gossip::State::leaving) return;  // it follows nobody any more
  static const std::vector<topology::Site> kNobody;
  const auto& sites = status.topology.sites ? *status.topology.sites : kNobody;
  for (const gossip::MemberStatus& member : status.members)
    if (member.liveness == gossip::Liveness::dead &&
        std::ranges::find(sites, member.member->id, &topology::Site::id) != sites.end())
      violated("the dead are no neighbours", node,
               fmt::format("{} is in its topology", member.member->name));
  // A repeated chunk that is not the last one is refused as incomplete, words of an earlier life as
  // those of another incarnation however often they come.
  const std::uint64_t refused = count_of(status.rejected, "repeated") +
                                count_of(status.rejected, "incomplete") +
                                count_of(status.rejected, "incarnation");
  if (refused < world_->machine(node).repeats)
    violated("messages are applied once", node,
             fmt::format("{} frames came again and {} were refused", world_->machine(node).repeats,
                         refused));
}

// A flipped byte is found by a checksum, but words of another life are refused before that.
void Checker::see_damage(std::size_t node, const gossip::Status& status) {
  std::uint64_t refused = 0;
  for (const char* reason : {"checksum", "malformed", "protocol", "incarnation"})
    refused += count_of(status.rejected, reason);
  if (refused < world_->machine(node).corrupted)
    violated("damage is refused", node,
             fmt::format("{} frames had a flipped byte and {} were refused",
                         world_->machine(node).corrupted, refused));
}

void Checker::expect_finite() {
  for (std::size_t node : world_->running()) expect_finite(node);
}

void Checker::expect_finite(std::size_t node) {
  if (!std::ranges::all_of(world_->trainer(node).parameters(),
                           [](double x) { return std::isfinite(x); }))
    violated("numbers are finite", node, "a parameter is not");
}

void Checker::expect_agreement() {
  const std::vector<std::string> names = names_of_running(*world_);
  for (std::size_t node : world_->running()) {
    const gossip::Status status = world_->status(node);
    if (!agrees(status, names))
      violated("all agree", node,
               fmt::format("lists {} as alive and {} in its topology; {} run",
                           listed_by(status).size(), status.topology.names().size(), names.size()));
  }
}

// Only where a round waits for every neighbour.
void Checker::expect_step() {
  const gossip::Options& options = world_->options().base;
  if (!options.schedule->waits_for_all || options.quorum < 1) return;
  std::map<std::string, std::uint64_t> rounds;
  for (std::size_t node : world_->running()) rounds[name_of(node)] = world_->status(node).run.round;
  for (std::size_t node : world_->running())
    for (const gossip::EdgeStatus& edge : world_->status(node).edges) {
      if (edge.state != gossip::EdgeState::active && edge.state != gossip::EdgeState::late)
        continue;
      const std::uint64_t own = rounds[name_of(node)], other = rounds[edge.name];
      if (own > other + rounds_in_step(node))
        violated("neighbours stay in step", node,
                 fmt::format("is in round {} and {} in {}", own, edge.name, other));
    }
}

void Checker::expect_rounds() {
  for (std::size_t node : world_->running()) {
    const gossip::Status status = world_->status(node);
    const bool trains =
        status.state == gossip::State::training || status.state == gossip::State::degraded;
    if (!trains || status.is_alone || world_->machine(node).jobs_in_flight > 0) continue;
    double patience_s = 0;
    for (const gossip::EdgeStatus& edge : status.edges)
      patience_s = std::max(patience_s, edge.patience_s);
    const double idle_s = seconds(world_->now() - seen_of(node).last_job);
    if (idle_s > seconds(kIdleLimit) + patience_s)
      violated("rounds go on", node,
               fmt::format("waits in round {} since {:.0f} s, with a patience of {:.0f} s",
                           status.run.round, idle_s, patience_s));
  }
}

void Checker::expect_shares() {
  const std::size_t relays = world_->options().relays;
  optim::Shard due;
  for (std::size_t node : world_->running())
    if (node >= relays) due.members.push_back(node_id(name_of(node)));
  for (std::size_t node : world_->running()) {
    if (node < relays) continue;
    const auto& shard = seen_of(node).shard;
    if (!shard || *shard != due)
      violated("data are dealt once", node,
               fmt::format("has share {} of {}, not {} of {}", shard ? shard->place : 0,
                           shard ? shard->members.size() : 0, due.place, due.members.size()));
    ++due.place;
  }
}

void Checker::expect_consensus(double distance) {
  for (std::size_t node : world_->running())
    if (world_->trainer(node).parameters().empty())
      return violated("models come together", node, "it has no model");
  if (const double seen = consensus_distance(*world_); !(seen <= distance))
    violated(
        "models come together", 0,
        fmt::format("a distance of {:.3g} from their mean; at most {} is allowed", seen, distance));
  for (std::size_t node : world_->running()) expect_estimate(node, distance);
}

// All nodes have a model by then, and the estimates have had time to settle.
void Checker::expect_estimate(std::size_t node, double distance) {
  const gossip::Status status = world_->status(node);
  if (const auto own = status.consensus_distance; own && *own > 2 * distance)
    violated("the estimate is right", node,
             fmt::format("it takes its distance from the mean for {:.3g}", *own));
  if (const double share = status.fleet.model_share;
      status.fleet.distance && std::abs(share - 1) > 0.1)
    violated("the estimate is right", node,
             fmt::format("it takes the nodes that have a model for {:.3g} of all", share));
}

void Checker::violated(std::string law, std::size_t node, std::string what) {
  if (violations_.size() >= kViolationsLimit || is_liar(world_->options(), node)) return;
  violations_.push_back({std::move(law), world_->now(), node, std::move(what)});
}

bool agree_on_members(const World& world) {
  const std::vector<std::string> names = names_of_running(world);
  return std::ranges::all_of(world.running(),
                             [&](std::size_t node) { return agrees(world.status(node), names); });
}

double consensus_distance(const World& world) {
  double farthest = 0;
  for (const gossip::NodeSummary& node : summarize_nodes(world))
    farthest = std::max(farthest, node.distance.value_or(0));
  return farthest;
}

}  // namespace starling::sim
