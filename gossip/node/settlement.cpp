#include "gossip/node/settlement.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/planted.h"

namespace starling::gossip {
namespace {

// Epochs whose models are summed.
constexpr std::uint64_t kSummedEpochs = 4;
// Of these, the ones whose mean may not lack a member that has ended. Larger: where an edge stays
// closed, the end takes longer. Smaller: the model may be the mean of fewer members.
constexpr std::uint64_t kFullEpochs = 2;
// Models that are refused before a node keeps its own.
constexpr std::size_t kModelRefusalsMost = 5;
constexpr Duration kSettleLook = std::chrono::milliseconds(20);  // between looks at the clock
// Between two looks at all members, for each of them: a look at a thousand takes some 40 us, and
// each of them tells of its end. Larger: a large fleet ends later.
constexpr Duration kMemberLook = std::chrono::microseconds(20);

// This node among them.
std::size_t ended_count(const Roster& members) {
  const std::vector<const Member*> all = parties(members);
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const Member* member) {
    return member->id == members.self() || has_ended(*member);
  }));
}

// The model that most members tell, and how many; this node tells `own`, if that is not 0. A model
// that only refused members tell does not count, unless they are enough.
std::pair<std::uint64_t, std::size_t> most_told(const Roster& members, std::uint64_t own,
                                                const std::set<NodeId>& refused,
                                                std::size_t enough) {
  std::map<std::uint64_t, std::size_t> counts;
  std::set<std::uint64_t> sound;
  if (own != 0) ++counts[own], sound.insert(own);
  for (const Member* member : parties(members)) {
    if (member->id == members.self() || member->sealed == 0) continue;
    ++counts[member->sealed];
    if (!refused.contains(member->id)) sound.insert(member->sealed);
  }
  std::pair<std::uint64_t, std::size_t> most;
  for (const auto& [hash, count] : counts)
    if (count >= most.second && (sound.contains(hash) || count >= enough)) most = {hash, count};
  return most;
}

// Members whose word is believed.
std::size_t enough(const Roster& members, const Options& options) {
  return votes_needed(parties(members).size(), options.needs.liars);
}

// The round of which this node goes back to its own model; 0: it does not.
std::uint64_t kept_round(const RunEnd& end, std::uint64_t round) {
  return round == 0 ? 0 : end.kept_round(round);
}

// REQUIRES members that have ended and are gone.
std::string left_behind_text(const Roster& members) {
  const std::vector<const Member*> gone = gone_parties(members);
  const Member* last = *std::ranges::max_element(gone, {}, &Member::sealed);
  const std::string model =
      last->sealed > 0 ? fmt::format(" with model {:016x}", last->sealed) : "";
  return fmt::format("the others ended after round {}{}, and none of them is left", last->end_at,
                     model);
}

// How long the end waits for members that do not end.
Duration late_patience() {
  return PLANTED(late_awaited) ? std::chrono::hours(1) : kSettlePatience;
}

// Whether the models are summed in that epoch.
bool sums(const Options& options, std::size_t refusals, std::uint64_t epoch) {
  return options.needs.sums_models && refusals == 0 && epoch <= kSummedEpochs;
}

TallyTree::Calls calls(Time now, Time begun) {
  return now < begun + kSettlePatience ? TallyTree::Calls::all : TallyTree::Calls::ended;
}

}  // namespace

Settlement::Settlement(const Options& options, const RunEnd& end, const TallyTree::Around& around)
    : options_(options),
      end_(end),
      around_(around),
      tree_(options, around),
      fetch_(options, around),
      pause_(options.timing.retry) {}

void Settlement::begin(Time now) {
  stage_ = Stage::settles;
  begun_ = next_look_ = now;
  is_moved_ = true;
  tree_.touch(now);
}

std::optional<NodeId> Settlement::next_root() const {
  std::optional<NodeId> root;
  for (const Member* member : parties(around_.members)) {
    const bool counts = member->id == around_.members.self() || has_ended(*member);
    if (!counts || refused_.contains(member->id)) continue;
    if (!root || tree_.rank(member->id) > tree_.rank(*root)) root = member->id;
  }
  return root;
}

// ---------------------------------------------------------------- messages and time

void Settlement::receive(Time now, NodeId from, const Tally& message, Payload payload,
                         Outbox& out) {
  using enum Tally::Kind;
  if (stage_ == Stage::idle) return;
  is_moved_ = true;
  if (message.kind == model) return hear_model(from, message, std::move(payload));
  if (sealed() != 0) {
    if (message.kind == call || message.kind == part) give(now, from, out);
    return;
  }
  const bool is_refused = refused_.contains(message.root) || refused_.contains(from);
  if (stage_ == Stage::over || message.epoch == 0 || is_refused) return;
  if (tree_.is_later(message)) {
    if (message.kind != call) return;
    added_epoch_ = 0;
    tree_.join(now, {message.epoch, message.root, message.round}, from, calls(now, begun_), out);
  } else if (!tree_.is_of(message)) {
    return tree_.call(from, out);
  }
  tree_.receive(now, from, message, std::move(payload), out);
}

void Settlement::tick(Time now, Outbox& out) {
  if (stage_ == Stage::idle || !take_look(now)) return;
  const bool is_left = stage_ == Stage::settles && is_left_behind();
  if (is_left && now >= begun_ + kSettlePatience) give_up(left_behind_text(around_.members), out);
  if (stage_ == Stage::settles && !is_left) drive(now, out);
  using enum TallyTree::Stage;
  const bool may_fetch = !candidate_ && tree_.stage() != adds;
  // A model that enough members tell is checked by its hash, so that any member may give it.
  const std::set<NodeId> nobody;
  fetch_.tick(now, may_fetch ? lacked() : 0, tree_.stage() != none,
              told_by(enough(around_.members, options_)) == 0 ? refused_ : nobody, out);
  const bool is_busy = stage_ == Stage::settles || fetch_.is_busy() || !is_over(now);
  next_look_ = is_busy ? now + kSettleLook : kNever;
}

bool Settlement::take_look(Time now) {
  const auto members = static_cast<int>(around_.members.present_count());
  const Duration pause = std::min(members * kMemberLook, kSettleLook);
  if (!std::exchange(is_moved_, false) && now < looked_at_ + pause) return false;
  looked_at_ = now;
  return true;
}

void Settlement::drive(Time now, Outbox& out) {
  using enum TallyTree::Stage;
  const bool works = running_ != Work::none || candidate_ || tree_.stage() == adds;
  if (tree_.stage() != none && !works && tree_.is_stuck(now)) tree_.leave();
  const auto root = next_root();
  const Duration patience = late_patience();
  const bool may_start =
      ended_count(around_.members) == parties(around_.members).size() || now >= begun_ + patience;
  if (tree_.stage() == none && root == around_.members.self() && may_start && !candidate_) {
    const TallyTree::Sum sum{tree_.sum().epoch + 1, around_.members.self(), end_.best_round()};
    const TallyTree::Calls whom =
        sums(options_, refusals_, sum.epoch) ? calls(now, begun_) : TallyTree::Calls::nobody;
    tree_.join(now, sum, std::nullopt, whom, out);
  }
  // The member whose turn it is does nothing.
  if (tree_.stage() == none && root && now >= tree_.moved() + 2 * patience) {
    refused_.insert(*root);
    tree_.touch(now);
  }
  tree_.tick(now, out);
}

// ---------------------------------------------------------------- jobs

std::optional<optim::Job> Settlement::take_job() {
  if (running_ != Work::none) return std::nullopt;
  optim::Job job;
  if (candidate_) {
    running_ = Work::seal;
    job.back_to = kept_round(end_, candidate_->round);
    job.seal = optim::Seal{.vector = candidate_->model.vector, .expected = candidate_->expected};
    return job;
  }
  const TallyTree::Sum& sum = tree_.sum();
  if (tree_.stage() != TallyTree::Stage::adds || added_epoch_ == sum.epoch) return std::nullopt;
  running_ = Work::tally;
  added_epoch_ = sum.epoch;
  job.back_to = kept_round(end_, sum.round);
  job.tally = tree_.parts();
  return job;
}

void Settlement::done(Time now, const optim::Done& done, Outbox& out) {
  const Work work = std::exchange(running_, Work::none);
  tree_.touch(now);
  next_look_ = now;
  is_moved_ = true;
  if (work == Work::tally) return added(now, done.tally, out);
  const Candidate candidate = *std::exchange(candidate_, std::nullopt);
  if (done.sealed != 0) return seal(now, candidate, done.sealed, out);
  const Member* from = around_.members.find(candidate.from);
  const bool is_sum = candidate.from == around_.members.self();
  refuse(candidate,
         fmt::format("the model of the end from {} {}",
                     is_sum ? "the sum of all"
                     : from ? from->name
                            : "a node that is gone",
                     done.problem.value_or("does not fit")),
         out);
}

// Where nothing is summed, the model stands for all members that have ended.
void Settlement::added(Time now, const Payload& mean, Outbox& out) {
  const std::uint64_t epoch = tree_.sum().epoch;
  if (tree_.stage() != TallyTree::Stage::adds || added_epoch_ != epoch) return;
  if (mean.empty()) {  // a part did not fit
    if (++refusals_ >= kModelRefusalsMost) return give_up("the models have different sizes", out);
    return tree_.leave();
  }
  optim::ModelMean sum{mean, 1};
  for (const optim::ModelMean& part : tree_.parts()) sum.models += part.models;
  const bool is_root = !tree_.parent();
  const std::size_t ended = ended_count(around_.members);
  const bool may_lack = epoch > kFullEpochs || now >= begun_ + kSettlePatience;
  if (is_root && !sums(options_, refusals_, epoch)) sum.models = ended;
  // An edge may have been closed while the others were called.
  if (is_root && !may_lack && sum.models < ended) return tree_.leave();
  tree_.report(now, sum, out);
  if (!is_root || candidate_) return;
  candidate_ = Candidate{around_.members.self(), std::move(sum), tree_.sum().round};
}

void Settlement::refuse(const Candidate& candidate, const std::string& problem, Outbox& out) {
  ++refusals_;
  if (candidate.from != around_.members.self()) refused_.insert(candidate.from);
  out.event(Event::Kind::problem, problem);
  if (sealed() != 0) return;
  if (refusals_ >= kModelRefusalsMost || !next_root()) return give_up(problem, out);
  tree_.leave();
}

void Settlement::give_up(const std::string& problem, Outbox& out) {
  problem_ = fmt::format("ends with a model of its own: {}", problem);
  out.event(Event::Kind::problem, problem_);
  stage_ = Stage::over;
  tree_.leave();
}

// ---------------------------------------------------------------- the model

void Settlement::hear_model(NodeId from, const Tally& message, Payload payload) {
  const bool is_awaited = fetch_.awaits(from) || tree_.awaits(from);
  if (!is_awaited || payload.empty() || candidate_ || (sealed() != 0 && lacked() == 0)) return;
  const std::uint64_t models = std::max<std::uint64_t>(1, message.models);
  candidate_ = Candidate{from,
                         {std::move(payload), models},
                         message.round,
                         told_by(enough(around_.members, options_))};
}

void Settlement::seal(Time now, const Candidate& candidate, std::uint64_t hash, Outbox& out) {
  const bool is_other = sealed() != 0;
  sealed_at_ = now;
  model_ = {hash, candidate.model.models, candidate.round};
  vector_ = candidate.model.vector;
  problem_.clear();
  stage_ = Stage::over;
  pause_.clear();
  if (is_other)
    out.event(Event::Kind::exchange,
              fmt::format("took the model {}, with which more members ended", to_text(model_)));
  for (const NodeId child : tree_.children()) give(now, child, out);
  tree_.leave();
}

void Settlement::give(Time now, NodeId to, Outbox& out) {
  if (!pause_.may_send(now, to, vector_.size())) return;
  const auto& [epoch, root, summed] = tree_.sum();
  out.send(to, Tally{Tally::Kind::model, epoch, root, model_.nodes, model_.round}, vector_);
}

// The model that others tell and that this node has to take; 0: none.
std::uint64_t Settlement::lacked() const {
  const std::uint64_t told = told_by(sealed() == 0 ? 1 : enough(around_.members, options_));
  return told == sealed() || !problem_.empty() ? 0 : told;
}

std::uint64_t Settlement::told_by(std::size_t least) const {
  const auto [told, count] =
      most_told(around_.members, sealed(), refused_, enough(around_.members, options_));
  return count >= least ? told : 0;
}

bool Settlement::is_left_behind() const {
  const std::vector<const Member*> here = parties(around_.members);
  const std::size_t gone = gone_parties(around_.members).size();
  const std::size_t needed = votes_needed(here.size() + gone, options_.needs.liars);
  const auto has_none = [](const Member* member) { return member->sealed == 0; };
  return sealed() == 0 && gone >= std::max(needed, here.size() + 1) &&
         std::ranges::all_of(here, has_none);
}

bool Settlement::is_over(Time now) const {
  if (stage_ != Stage::over) return false;
  if (sealed() == 0 || now >= sealed_at_ + kSettlePatience) return true;
  const std::vector<const Member*> all = parties(around_.members);
  return std::ranges::all_of(all, [&](const Member* member) {
    return member->id == around_.members.self() || member->sealed == sealed();
  });
}

std::string Settlement::reason() const {
  if (stage_ != Stage::settles) return problem_;
  if (tree_.stage() != TallyTree::Stage::none) return "the models of all nodes become one";
  std::string names;
  for (const Member* member : parties(around_.members))
    if (member->id != around_.members.self() && !has_ended(*member))
      names += (names.empty() ? "" : ", ") + member->name;
  return names.empty() ? "waits for the sum of all models"
                       : fmt::format("the run ends; waits for {}", names);
}

}  // namespace starling::gossip
