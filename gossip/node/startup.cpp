#include "gossip/node/startup.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

constexpr Duration kSeedPatience = std::chrono::seconds(2);  // for any answer from a seed
constexpr Duration kLinkPatience = std::chrono::seconds(1);  // for edges to the expected members
constexpr Duration kSurveyPatience = std::chrono::seconds(10);
// After this time founders also pass on the surveys of other founders. Longer: a founder that
// cannot reach another one gets its survey later. Shorter: more bytes.
constexpr Duration kRelayAfter = std::chrono::seconds(2);
// The donor sends its model after its next round. A donor that is silent for longer, or stops in
// the middle, is given up for another one. Each next donor gets more time, since rounds may be
// long.
constexpr Duration kFirstChunkPatience = std::chrono::seconds(1);
constexpr Duration kChunkPatience = std::chrono::seconds(2);
constexpr std::size_t kDonorAttempts = 8;
// A model's round is believed up to twice the round of the members' table, plus this many. Larger:
// a false round lifts the newcomer further. Smaller: a newcomer among rounds of less than the
// table's delay begins behind them, and learns the round from its neighbours.
constexpr std::uint64_t kRoundsUntold = 1000;
constexpr Duration kWorthSaying = std::chrono::seconds(2);  // before a missing member is reported
constexpr Duration kLook = std::chrono::milliseconds(20);   // pause while only time is waited for

// A node that goes on from an earlier life and waits for members gives them up for those that train
// without it after this time. Shorter: it may take members that are about to begin with it for
// such.
constexpr Duration kOvertakenAfter = std::chrono::seconds(2);

// The members whose model a newcomer may adopt: those that have trained at least one round. For a
// node that has a model of its own round `own`, those that train and are beyond that. Members
// that differ in an agreed key count only if no other member can give a model: so settings can be
// changed one node after the other, and the model stays.
std::vector<const Member*> donors(const Roster& members, std::uint64_t own) {
  std::vector<const Member*> donors = members.ready();
  std::erase_if(donors, [&](const Member* member) {
    const bool waits = own > 0 && member->phase == Phase::resumed;
    return member->id == members.self() || member->round <= own || waits;
  });
  const auto agrees = [&](const Member* member) { return members.agrees(*member); };
  if (std::ranges::any_of(donors, agrees))
    std::erase_if(donors, [&](const Member* member) { return !agrees(member); });
  return donors;
}

// The highest round that a model may have. One record of the members' table may be false as the
// model's round may be; so where there are several donors, the second highest of their rounds
// counts.
std::uint64_t highest_round(const Roster& members) {
  std::uint64_t highest = 0, second = 0;
  const auto trained = donors(members, 0);
  for (const Member* member : trained) {
    second = std::max(second, std::min(highest, member->round));
    highest = std::max(highest, member->round);
  }
  return 2 * (trained.size() > 1 ? second : highest) + kRoundsUntold;
}

// Members, self included, with this node's values of the agreed keys: they share the data and found
// the model together.
std::vector<const Member*> fellows(const Roster& members) {
  std::vector<const Member*> fellows = members.present();
  std::erase_if(fellows, [&](const Member* member) { return !members.agrees(*member); });
  return fellows;
}

// The founders that are ready, and so have the model that all begin with; not this node.
std::vector<const Member*> beginners(const Roster& members) {
  std::vector<const Member*> beginners = members.ready();
  std::erase_if(beginners, [&](const Member* member) {
    return member->id == members.self() || !members.agrees(*member);
  });
  return beginners;
}

}  // namespace

Startup::Startup(const Options& options, Time now, std::shared_ptr<const Checkpoint> before)
    : options_(options),
      prng_(Prng::derive(options.seed, node_id(options.name).value ^ 1)),
      started_(now),
      known_at_(now),
      counted_at_(now),
      stage_since_(now),
      next_try_(now),
      surveys_(options),
      before_(std::move(before)) {}

void Startup::enter(Time now, Stage stage) {
  stage_ = stage;
  stage_since_ = now;
  next_try_ = refusal_.empty() ? now : now + kSurveyPatience;
}

void Startup::tick(Time now, const Membership& search, Outbox& out) {
  const Roster& members = search.roster();
  if (stage_ == Stage::gathering || stage_ == Stage::ready) next_try_ = now + kLook;
  if (stage_ != Stage::done || is_short_) count(now, members);
  if (stage_ == Stage::gathering && gathered(now, search)) assign(now, members, out);
  if (stage_ == Stage::ready && is_overtaken(now, members)) enter(now, Stage::fetching);
  if (stage_ == Stage::surveying) survey(now, members, out);
  if (stage_ == Stage::fetching) fetch(now, members, out);
}

void Startup::begin(Time now, const Roster& members, const Links& links) {
  // All donors were gone, and one is back before this node began alone.
  const bool may_fetch =
      !has_adopted_ && failed_donor_ && !gave_up_ && !donors(members, own_round()).empty();
  if (stage_ == Stage::ready && may_fetch) return enter(now, Stage::fetching);
  if (stage_ != Stage::ready || !expected_since_ || copies_) return;
  // Founders begin together; a newcomer begins as soon as its edges are open.
  const bool linked = has_adopted_ ? links.are_open() : links.are_agreed();
  if (linked || now - *expected_since_ >= kLinkPatience) enter(now, Stage::done);
}

// Other members train without this node, which waits for some that do not come.
bool Startup::is_overtaken(Time now, const Roster& members) const {
  return has_resumed_ && !expected_since_ && !copies_ && now - stage_since_ >= kOvertakenAfter &&
         !donors(members, own_round()).empty();
}

// The number of members to wait for. Members that did not come in time are not waited for again.
std::size_t Startup::awaited() const {
  return is_short_ ? std::min(options_.expect, known_) : options_.expect;
}

// The node goes on waiting for members as long as some come or become ready.
void Startup::count(Time now, const Roster& members) {
  if (counted_version_ != members.version()) {
    counted_version_ = members.version();
    known_ = members.present().size();
    ready_ = members.ready_count();
    if (known_ > most_known_) known_at_ = counted_at_ = now;
    if (ready_ > most_ready_) counted_at_ = now;
    most_known_ = std::max(most_known_, known_);
    is_short_ = is_short_ && known_ < options_.expect;
    most_ready_ = std::max(most_ready_, ready_);
  }
  const bool enough = has_adopted_ || ready_ >= awaited() || !is_patient(now, counted_at_);
  if (stage_ == Stage::ready && !expected_since_ && enough) expected_since_ = now;
}

Time Startup::deadline() const {
  switch (stage_) {
    case Stage::gathering:
    case Stage::ready:
    case Stage::surveying:
    case Stage::fetching:
      return next_try_;
    default:
      return kNever;
  }
}

bool Startup::gathered(Time now, const Membership& search) const {
  const Roster& members = search.roster();
  if (search.identity().is_contested()) return false;
  if (before_ && !donors(members, own_round()).empty()) return true;
  const bool enough = members.present().size() >= options_.expect;
  if (options_.expect > 1) return enough || !is_patient(now, known_at_);
  if (!search.has_seeds() || now - started_ >= kSeedPatience) return true;
  // The seed that answered may be a newcomer too and know no donor; another seed may know one.
  return search.connected() && (!donors(members, own_round()).empty() || !search.awaits_seed());
}

void Startup::assign(Time now, const Roster& members, Outbox& out) {
  is_short_ = known_ < options_.expect;
  auto shard = std::make_shared<optim::Shard>();
  for (const Member* member : fellows(members)) {
    if (member->id == members.self()) shard->place = shard->members.size();
    shard->members.push_back(member->id);
  }
  optim::Job job;
  job.shard = std::move(shard);
  out.train(std::move(job));
  enter(now, Stage::assigning);
  // A newcomer fetches the model while its data are prepared.
  if (const auto candidates = donors(members, own_round()); !candidates.empty())
    ask(now, candidates, members, out);
}

void Startup::assigned(Time now) {
  is_assigned_ = true;
  if (stage_ == Stage::adopting) return;  // the next answer is of the adoption
  if (donor_ || before_)
    stage_ = Stage::fetching;
  else
    enter(now, workload_.survey.empty() ? Stage::fetching : Stage::surveying);
}

std::string Startup::trained(Time now, const optim::Done& done, Outbox& out) {
  if (done.workload) workload_ = *done.workload;
  if (!is_assigned_) {
    assigned(now);
    return {};
  }
  switch (stage_) {
    case Stage::founding:
      founded(now, done, out);
      break;
    case Stage::ready:
      copies_ = false;
      break;
    case Stage::resuming:
      return resumed(now, done, out);
    case Stage::adopting:
      adopted(now, done, out);
      break;
    default:
      break;
  }
  return {};
}

void Startup::adopted(Time now, const optim::Done& done, Outbox& out) {
  if (done.problem) return rejected(now, *done.problem);
  misfit_.clear();
  has_adopted_ = round_ > 0;
  if (has_adopted_) before_ = nullptr;
  has_resumed_ = false;
  founded(now, {}, out);
  enter(now, Stage::ready);
}

// If the founders' data do not fit together, no node trains until some node's data change.
void Startup::founded(Time now, const optim::Done& done, Outbox& out) {
  foundation_ = workload_.foundation;
  if (!workload_.late_survey.empty()) surveys_.set_own(workload_.late_survey);
  const std::string refusal = done.problem.value_or("");
  if (!refusal.empty() && refusal != refusal_)
    out.event(Event::Kind::problem, fmt::format("cannot train with these nodes: {}", refusal));
  refusal_ = refusal;
  enter(now, refusal.empty() ? Stage::fetching : Stage::surveying);
  if (!refusal.empty()) next_try_ = now + kSurveyPatience;
}

// Another donor's model may fit. The same donor does not answer sooner than after this pause.
void Startup::rejected(Time now, const std::string& problem) {
  misfit_ = fmt::format("the model of {} does not fit this node: {}", donor_name_, problem);
  round_ = 0;
  enter(now, Stage::fetching);
  next_try_ = now + kFirstChunkPatience;
}

void Startup::hears_oversized(Time now) {
  if (is_fetching() && is_assigned_) rejected(now, "it is larger than that of this node");
}

void Startup::receive(const Surveys& message, const Envelope& from, const Roster& members,
                      Outbox& out) {
  surveys_.receive(message, from.sender, fellows(members), stage_ > Stage::surveying, out);
}

void Startup::survey(Time now, const Roster& members, Outbox& out) {
  if (!donors(members, own_round()).empty()) return enter(now, Stage::fetching);
  if (!workload_.survey.empty()) surveys_.set_own(workload_.survey);
  const std::vector<const Member*> founders = fellows(members);
  const bool all = surveys_.has_all(founders);
  if (now >= next_try_ || (all && refusal_.empty())) {
    next_try_ = now + options_.timing.retry;
    surveys_.tell(founders, now - stage_since_ >= kRelayAfter, out);
  }
  const bool is_patient = !refusal_.empty() || !all;
  if (is_patient && now - stage_since_ < kSurveyPatience) return;
  found(now, members, out);
}

void Startup::found(Time now, const Roster& members, Outbox& out) {
  optim::Job job;
  job.foundation = std::make_shared<const std::vector<std::string>>(surveys_.of(fellows(members)));
  out.train(std::move(job));
  enter(now, Stage::founding);
}

void Startup::want_snapshot(Donor& donor, Outbox& out) {
  if (!is_founding() || !donor.claim()) return;
  optim::Job job;
  job.round = round_ + 1;
  job.snapshot = true;
  out.train(std::move(job));
  copies_ = true;
}

void Startup::hears_chunk(std::optional<Time> at) {
  if (at) next_try_ = std::max(next_try_, *at + kChunkPatience);
}

// A donor that is gone will not answer.
bool Startup::waits_for_donor(Time now, const Roster& members) const {
  return donor_ && now < next_try_ && members.find(*donor_);
}

void Startup::fetch(Time now, const Roster& members, Outbox& out) {
  if (waits_for_donor(now, members)) return;
  // A donor that is gone does not count as a failed attempt.
  if (donor_ && members.find(*donor_)) ++attempts_;
  if (donor_) failed_donor_ = std::exchange(donor_, std::nullopt);
  const auto candidates = this->candidates(members);
  if (candidates.empty() || attempts_ >= kDonorAttempts) return do_without(now, members, out);
  ask(now, candidates, members, out);
  if (PLANTED(early_contribution)) enter(now, Stage::ready);
}

std::vector<const Member*> Startup::candidates(const Roster& members) const {
  auto candidates = donors(members, own_round());
  if (candidates.empty() && !before_ && workload_.needs_model) candidates = beginners(members);
  if (candidates.size() > 1)
    std::erase_if(candidates, [&](const Member* member) { return member->id == failed_donor_; });
  // A member that gave nothing may not exist; a member that has sent a message does.
  const auto is_heard = [&](const Member* member) { return members.has_spoken(member->id); };
  if (attempts_ > 0 && std::ranges::any_of(candidates, is_heard))
    std::erase_if(candidates, [&](const Member* member) { return !is_heard(member); });
  return candidates;
}

// There is nobody to ask, or nobody answers. A founder that begins with another's model waits for
// one that has it; where none comes, the founders that are left agree anew.
void Startup::do_without(Time now, const Roster& members, Outbox& out) {
  if (before_) return resume(now, out);
  const bool is_patient = now - stage_since_ < kSurveyPatience && fellows(members).size() > 1;
  if (workload_.needs_model && attempts_ < kDonorAttempts && is_patient) {
    next_try_ = now + kLook;
    return;
  }
  gave_up_ = std::exchange(attempts_, 0) >= kDonorAttempts;
  if (workload_.needs_model) surveys_.forget_others();
  const bool can_start_alone = workload_.survey.empty() && !workload_.needs_model;
  enter(now, can_start_alone ? Stage::ready : Stage::surveying);
}

void Startup::resume(Time now, Outbox& out) {
  attempts_ = 0;
  round_ = own_round();
  if (has_resumed_) return enter(now, Stage::ready);
  optim::Job job;
  if (!before_->foundation.empty())
    job.foundation = std::make_shared<const std::vector<std::string>>(1, before_->foundation);
  job.resume = before_->state;
  out.train(std::move(job));
  stage_ = Stage::resuming;
}

std::string Startup::resumed(Time now, const optim::Done& done, Outbox& out) {
  if (done.problem)
    return fmt::format(
        "the checkpoint of round {} does not fit: {}; checkpoint.resume = no begins afresh", round_,
        *done.problem);
  has_resumed_ = true;
  // The state is the trainer's now.
  auto known = std::make_shared<Checkpoint>(*before_);
  known->state = nullptr;
  before_ = std::move(known);
  founded(now, {}, out);
  enter(now, Stage::ready);
  return {};
}

void Startup::ask(Time now, const std::vector<const Member*>& candidates, const Roster& members,
                  Outbox& out) {
  const Member* donor = candidates[prng_.below(candidates.size())];
  donor_ = donor->id;
  donor_name_ = donor->name;
  next_try_ = now + (kFirstChunkPatience * (1 << std::min<std::size_t>(attempts_, 4)));
  out.send(donor->control, SnapshotRequest{*members.find(members.self())});
}

void Startup::receive(const Snapshot& snapshot, Payload payload, const Envelope& from,
                      const Roster& members, Outbox& out) {
  const bool was_asked = from.sender == donor_ || from.sender == failed_donor_;
  if (!is_fetching() || !was_asked || payload.empty()) return;
  optim::Job job;
  if (!snapshot.foundation.empty())
    job.foundation = std::make_shared<const std::vector<std::string>>(1, snapshot.foundation);
  job.adopt = std::move(payload);
  // A false round must not make all nodes jump ahead. A node that begins too low learns the round
  // from its neighbours.
  round_ = std::min(snapshot.round, highest_round(members));
  out.train(std::move(job));
  stage_ = Stage::adopting;
}

std::vector<std::string> Startup::warnings(Time now) const {
  if (!misfit_.empty() && !is_ready()) return {misfit_};
  if (stage_ == Stage::surveying && !refusal_.empty()) return {reason()};
  if (known_ >= options_.expect) return {};
  if (stage_ == Stage::gathering && now - known_at_ >= kWorthSaying)
    return {fmt::format("{} of {} expected members are here (cluster.expect); waiting for the rest",
                        known_, options_.expect)};
  if (is_short_)
    return {
        fmt::format("{} of {} expected members came (cluster.expect); the rest is not waited for",
                    most_known_, options_.expect)};
  return {};
}

std::string Startup::reason() const {
  switch (stage_) {
    case Stage::gathering:
      return options_.expect > 1
                 ? fmt::format("waiting for members: {} of {} expected", known_, options_.expect)
                 : "waiting for an answer from cluster.join";
    case Stage::surveying:
      return refusal_.empty() ? "waiting for the data statistics of the other founders"
                              : "cannot train with these nodes: " + refusal_;
    case Stage::fetching:
    case Stage::adopting:
      return donor_name_.empty() ? "waiting for a founder with the parameters that all begin with"
                                 : fmt::format("fetching the model from {}", donor_name_);
    case Stage::resuming:
      return "reading the checkpoint";
    case Stage::ready:
      return "waiting for the other nodes to be ready";
    default:
      return "preparing the data";
  }
}

}  // namespace starling::gossip
