#include "gossip/node/startup.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

using namespace phases;

constexpr Duration kSeedPatience = std::chrono::seconds(2);  // for any answer from a seed
constexpr Duration kLinkPatience = std::chrono::seconds(1);  // for edges to the expected members
// For the survey of a founder that is there and may still prepare its data. Longer: a founder that
// never sends one holds up the others. Shorter: the model is founded without a large site's data.
constexpr Duration kSurveyPatience = std::chrono::minutes(1);
constexpr Duration kRetryPatience = std::chrono::seconds(10);  // before founders agree anew
// After this time founders also pass on the surveys of other founders. Longer: a founder that
// cannot reach another one gets its survey later. Shorter: more bytes.
constexpr Duration kRelayAfter = std::chrono::seconds(2);
constexpr Duration kLook = std::chrono::milliseconds(20);  // between looks at the clock

// After this time a resumed node that waits for members joins those that train without it instead.
// Shorter: these may be members that are just about to begin with it.
constexpr Duration kOvertakenAfter = std::chrono::seconds(2);

using Foundation = std::vector<std::string>;

std::uint64_t round_of(const std::shared_ptr<const Checkpoint>& before) {
  return before ? before->round : 0;
}

optim::Job job_on(const std::string& foundation) {
  optim::Job job;
  if (!foundation.empty()) job.foundation = std::make_shared<const Foundation>(1, foundation);
  return job;
}

// A node that was told of others founds nothing alone.
bool waits_for_first(const Options& options, const Membership& membership) {
  const bool is_told = options.expect > 1 || membership.search().seeds().name_others();
  return is_told && options.alone == Alone::rest && membership.roster().present_count() == 1;
}

}  // namespace

Startup::Startup(const Options& options, Time now, Life& life, DataShare& share,
                 std::shared_ptr<const Checkpoint> before)
    : options_(options),
      life_(&life),
      share_(&share),
      next_look_(now),
      founders_(options, now),
      search_(options),
      surveys_(options),
      before_(std::move(before)) {}

void Startup::enter(Time now, LifePhase phase) {
  life_->enter(now, std::move(phase));
  next_look_ = now;
}

void Startup::tick(Time now, const Membership& search, Outbox& out) {
  const Roster& members = search.roster();
  const bool is_ready = life_->is_in<Ready>();
  if (life_->is_in<Gathering>() || is_ready) next_look_ = now + kLook;
  if (!life_->has_come_to<Computing>() || founders_.is_short())
    founders_.count(now, members, is_ready, origin_ == Origin::donor);
  // A founder that is late finds a donor from now on.
  if (life_->has_come_to<Computing>() && members.counts().trained > 0) surveys_.forget_others();
  if (life_->is_in<Gathering>() && gathered(now, search)) assign(now, members, out);
  if (is_ready && is_overtaken(now, members)) enter(now, Fetching());
  if (life_->is_in<Surveying>()) survey(now, members, out);
  if (life_->is_in<Fetching>()) fetch(now, members, out);
}

bool Startup::may_begin(Time now, const Roster& members, const Links& links) {
  if (!life_->is_in<Ready>() || !life_->is_free()) return false;
  if (origin_ != Origin::donor && search_.may_go_on(members, round_of(before_))) {
    enter(now, Fetching());
    return false;
  }
  if (!is_expected()) return false;
  if (origin_ == Origin::own && is_outdated(members, round_of(before_))) {
    enter(now, Fetching());
    return false;
  }
  // Founders begin together; a newcomer begins as soon as its edges are open.
  const bool linked = origin_ == Origin::donor ? links.are_open() : links.are_agreed();
  return linked || now - *founders_.complete_since() >= kLinkPatience;
}

// Whether other members train already, while this node waits for missing ones.
bool Startup::is_overtaken(Time now, const Roster& members) const {
  return origin_ == Origin::own && !is_expected() && life_->is_free() &&
         now - life_->since() >= kOvertakenAfter && !donors(members, round_of(before_)).empty();
}

Time Startup::deadline() const {
  if (life_->is_in<Fetching>() && search_.donor()) return search_.until();
  const bool looks = life_->is_in<Gathering>() || life_->is_in<Surveying>() ||
                     life_->is_in<Fetching>() || life_->is_in<Ready>();
  return looks ? next_look_ : kNever;
}

bool Startup::gathered(Time now, const Membership& membership) {
  const Roster& members = membership.roster();
  const Search& search = membership.search();
  if (membership.identity().is_contested()) return false;
  if (is_relay(options_) && founders(members).empty()) return false;
  const bool has_donors = !donors(members, round_of(before_)).empty();
  if (before_ && has_donors) return true;
  founders_.set_founded(before_ || has_donors);
  if (waits_for_first(options_, membership)) return false;
  if (options_.expect > 1) return founders_.is_known(now);
  if (search.seeds().empty() || now - life_->since() >= kSeedPatience) return true;
  // The seed that answered may be a newcomer too and know no donor; another seed may know one.
  return membership.connected() && (has_donors || !search.awaits_seed());
}

void Startup::assign(Time now, const Roster& members, Outbox& out) {
  founders_.close();
  std::vector<NodeId> sharing;
  for (const Member* member : founders(members)) sharing.push_back(member->id);
  optim::Job job;
  job.shard = share_->deal(std::move(sharing));
  out.train(std::move(job));
  enter(now, Assigning());
  // A newcomer fetches the model while its data are prepared.
  search_.ask(now, round_of(before_), false, members, out);
}

std::string Startup::trained(Time now, const optim::Done& done, Outbox& out) {
  if (done.workload) workload_ = *done.workload;
  if (!workload_.late_survey.empty()) surveys_.set_own(workload_.late_survey);
  const bool surveys = !search_.donor() && !before_ && !workload_.survey.empty();
  if (life_->is_in<Assigning>())
    enter(now, surveys ? LifePhase(Surveying()) : LifePhase(Fetching()));
  else if (life_->is_in<Founding>())
    founded(now, done.problem.value_or(""), out);
  else if (Adopting* adopting = life_->in<Adopting>(); adopting && --adopting->answers == 0)
    adopted(now, done);
  else if (life_->is_in<Resuming>())
    return resumed(now, done);
  else
    life_->end_errand();
  return {};
}

// ---------------------------------------------------------------- founders

void Startup::receive(const Surveys& message, const Envelope& from, const Roster& members,
                      Outbox& out) {
  surveys_.receive(message, from.sender, founders(members), life_->has_come_to<Founding>(), out);
}

void Startup::survey(Time now, const Roster& members, Outbox& out) {
  if (!donors(members, round_of(before_)).empty()) return enter(now, Fetching());
  if (!workload_.survey.empty()) surveys_.set_own(workload_.survey);
  const std::vector<const Member*> founders = gossip::founders(members);
  const bool is_refused = !life_->in<Surveying>()->refusal.empty();
  const bool is_whole = surveys_.has_all(founders) && !is_refused;
  if (now >= next_look_ || is_whole) {
    next_look_ = now + options_.timing.retry;
    // Founders that cannot dial each other also hear of each other by relays.
    const auto hidden = [](const Member* founder) { return is_hidden(*founder); };
    const bool has_hidden = std::ranges::any_of(founders, hidden);
    std::vector<const Member*> near = has_hidden ? fellows(members) : founders;
    std::erase_if(near, [&](auto* founder) { return !can_meet(members.own(), *founder); });
    surveys_.tell(near, has_hidden || now - life_->since() >= kRelayAfter, out);
  }
  const Duration patience = is_refused ? kRetryPatience : kSurveyPatience;
  if (!is_whole && now - life_->since() < patience) return;
  optim::Job job;
  job.foundation = std::make_shared<const Foundation>(surveys_.of(founders));
  out.train(std::move(job));
  enter(now, Founding{life_->in<Surveying>()->refusal});
}

// If the founders' data do not fit together, no node trains until some node's data change.
void Startup::founded(Time now, const std::string& refusal, Outbox& out) {
  if (refusal.empty()) return enter(now, Fetching());
  if (refusal != life_->in<Founding>()->refusal)
    out.event(Event::Kind::problem, fmt::format("{}{}", kCannotTrain, refusal));
  enter(now, Surveying{refusal});
  next_look_ = now + kRetryPatience;
}

void Startup::want_snapshot(Donor& donor, Outbox& out) {
  if (!is_founding() || !life_->is_free() || !donor.claim()) return;
  optim::Job job;
  job.round = round_ + 1;
  job.snapshot = true;
  out.train(std::move(job));
  life_->run(Errand::copy);
}

// ---------------------------------------------------------------- a model of another node

void Startup::fetch(Time now, const Roster& members, Outbox& out) {
  if (search_.is_waiting(now, members)) {
    if (PLANTED(early_contribution)) origin_ = Origin::donor, enter(now, Ready());
    return;
  }
  search_.give_up(members);
  const bool asks_founders = !before_ && workload_.needs_model;
  if (search_.is_exhausted() || !search_.ask(now, round_of(before_), asks_founders, members, out))
    return do_without(now, members, out);
}

// No member can give a model, or none answers. A founder that begins with another's model waits for
// a member that has it; if none comes, the remaining founders agree anew. Where neither the donors
// nor this node can be dialled, it waits until a member that can be dialled has their model.
void Startup::do_without(Time now, const Roster& members, Outbox& out) {
  const bool is_patient = now - life_->since() < kRetryPatience && founders(members).size() > 1;
  const bool awaits_founder =
      !before_ && workload_.needs_model && !search_.is_exhausted() && is_patient;
  if (awaits_founder || ModelSearch::is_out_of_reach(members, round_of(before_))) {
    next_look_ = now + kLook;
    return;
  }
  search_.end();
  if (before_) return resume(now, out);
  // A relay waits until a member with data has founded the model, and a node whose file is another
  // one until a person changes a setting: alone it would train apart from the others.
  if (is_relay(options_) || !workload_.strangeness.empty()) {
    next_look_ = now + kLook;
    return;
  }
  if (workload_.needs_model) surveys_.forget_others();
  if (workload_.survey.empty() && !workload_.needs_model)
    enter(now, Ready());
  else
    enter(now, Surveying());
}

void Startup::receive(Time now, const Snapshot& snapshot, Payload payload, const Envelope& from,
                      const Roster& members, Outbox& out) {
  const auto round = search_.round_of(from.sender, snapshot.round, members);
  if (!awaits_model() || !round || payload.empty()) return;
  optim::Job job = job_on(snapshot.foundation);
  job.adopt = std::move(payload);
  job.adopt_norm_most = norm_most(members, from.sender, *round);
  if (before_) job.resume = before_->state;
  round_ = *round;
  out.train(std::move(job));
  enter(now, Adopting{.answers = life_->is_in<Assigning>() ? 2 : 1});
}

void Startup::adopted(Time now, const optim::Done& done) {
  if (done.problem) return hears_misfit(now, *done.problem);
  // A node that comes back may find that its file has grown meanwhile: the trainer says so.
  if (!before_ && !workload_.strangeness.empty()) return hears_misfit(now, workload_.strangeness);
  search_.accept();
  origin_ = round_ > 0 ? Origin::donor : Origin::foundation;
  if (origin_ == Origin::donor) before_ = nullptr;
  enter(now, Ready());
}

// Another donor's model may fit.
void Startup::hears_misfit(Time now, const std::string& problem) {
  if (life_->is_in<Assigning>()) return;
  search_.reject(now, problem);
  round_ = 0;
  if (!life_->is_in<Fetching>()) enter(now, Fetching());
}

// ---------------------------------------------------------------- this node's life before

void Startup::resume(Time now, Outbox& out) {
  round_ = round_of(before_);
  if (origin_ == Origin::own) return enter(now, Ready());
  optim::Job job = job_on(before_->foundation);
  job.resume = before_->state;
  out.train(std::move(job));
  enter(now, Resuming());
}

std::string Startup::resumed(Time now, const optim::Done& done) {
  if (done.problem)
    return fmt::format(
        "the checkpoint of round {} does not fit: {}; checkpoint.resume = no begins afresh", round_,
        *done.problem);
  origin_ = Origin::own;
  // The trainer has the state now.
  auto known = std::make_shared<Checkpoint>(*before_);
  known->state = nullptr;
  before_ = std::move(known);
  enter(now, Ready());
  return {};
}

// ---------------------------------------------------------------- for people

std::vector<std::string> Startup::warnings(Time now) const {
  if (!search_.misfit().empty() && !life_->has_come_to<Ready>()) return {search_.misfit()};
  const auto* surveying = std::get_if<Surveying>(&life_->phase());
  if (surveying && !surveying->refusal.empty()) return {reason()};
  const auto missing = founders_.warning(now, life_->is_in<Gathering>());
  return missing ? std::vector{*missing} : std::vector<std::string>();
}

std::string Startup::reason() const {
  if (life_->is_in<Gathering>() && is_relay(options_) && founders_.known() == 0)
    return "waiting for a node with data: this one is a relay (node.role)";
  if (life_->is_in<Gathering>())
    return options_.expect > 1 ? "waiting for members: " + founders_.tally()
                               : "waiting for an answer from cluster.join";
  if (const auto* surveying = std::get_if<Surveying>(&life_->phase()))
    return surveying->refusal.empty() ? "waiting for the data statistics of the other founders"
                                      : std::string(kCannotTrain) + surveying->refusal;
  if (life_->is_in<Fetching>() || life_->is_in<Adopting>())
    return search_.donor_name().empty()
               ? "waiting for a founder with the parameters that all begin with"
               : fmt::format("fetching the model from {}", search_.donor_name());
  if (life_->is_in<Resuming>()) return "reading the checkpoint";
  if (life_->is_in<Ready>() && founders_.is_awaited())
    return "waiting for members: " + founders_.tally();
  return life_->is_in<Ready>() ? "waiting for the other nodes to be ready" : "preparing the data";
}

}  // namespace starling::gossip
