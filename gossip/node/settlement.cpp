#include "gossip/node/settlement.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/planted.h"

namespace starling::gossip {
namespace {

// Epochs whose models are summed.
constexpr std::uint64_t kSummedEpochs = 4;
// Of these, the ones whose mean may not lack a member that has ended. Larger: where an edge stays
// closed, the end takes longer. Smaller: the model may be the mean of fewer members.
constexpr std::uint64_t kFullEpochs = 2;
// By how many epochs a call may be ahead of the last one that this node knows. Larger: fewer false
// calls use up the numbers of epochs. Smaller: a node that comes late does not find its way into
// the sum of the others.
constexpr std::uint64_t kEpochsAhead = 1024;
// Models that are refused before a node keeps its own.
constexpr std::size_t kModelRefusalsMost = 5;
// The round of which this node goes back to its own model; 0: it does not.
std::uint64_t kept_round(const RunEnd& end, std::uint64_t round) {
  return round == 0 ? 0 : end.kept_round(round);
}

// REQUIRES members that have ended and are gone.
std::string left_behind_text(const Parties& parties) {
  const Member* last = *std::ranges::max_element(parties.gone(), {}, &Member::sealed);
  const std::string model =
      last->sealed > 0 ? fmt::format(" with model {:016x}", last->sealed) : "";
  return fmt::format("the others ended after round {}{}, and none of them is left", last->end_at,
                     model);
}

// How long the end waits for members that do not end.
Duration late_patience() {
  return PLANTED(late_awaited) ? std::chrono::hours(1) : kSettlePatience;
}

// Whether all have ended, or this node has waited for those that have not. A node that comes when
// others tell a model takes that one: it may have no edge to sum over.
bool may_sum(const Parties& parties, Time now, Time begun, bool is_told) {
  if (is_told && now < begun + kSettlePatience) return false;
  return parties.ended() == parties.here().size() || now >= begun + late_patience();
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
  since_ = now;
  look_.touch(now);
  tree_.touch(now);
}

std::optional<NodeId> Settlement::next_root(const Parties& parties) const {
  std::optional<NodeId> root;
  for (const Member* member : parties.here()) {
    const bool counts = parties.is_self(*member) || has_ended(*member);
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
  look_.touch(now);
  if (message.kind == model) return hear_model(from, message, std::move(payload));
  if (sealed() != 0) {
    if (message.kind == call || message.kind == part) give(now, from, out);
    return;
  }
  const bool is_refused = refused_.contains(message.root) || refused_.contains(from);
  if (stage_ == Stage::over || message.epoch == 0 || is_refused) return;
  if (message.epoch > tree_.sum().epoch + kEpochsAhead) return;
  if (tree_.is_later(message)) {
    if (message.kind != call) return;
    // An earlier life of this node began that sum, or the call is false.
    if (message.root == around_.members.self()) return tree_.outdo(message.epoch);
    added_epoch_ = 0;
    tree_.join(now, {message.epoch, message.root, message.round}, from, calls(now, since_), out);
  } else if (!tree_.is_of(message)) {
    return tree_.call(from, out);
  }
  tree_.receive(now, from, message, std::move(payload), out);
}

void Settlement::tick(Time now, Outbox& out) {
  if (stage_ == Stage::idle || !look_.begin(now, around_.members.present_count())) return;
  const Parties parties(around_.members, options_.needs.liars);
  const bool is_left = stage_ == Stage::settles && parties.are_left_behind();
  if (is_left && now >= since_ + kSettlePatience) give_up(left_behind_text(parties), out);
  if (stage_ == Stage::settles && !is_left) drive(now, parties, out);
  using enum TallyTree::Stage;
  const bool may_fetch = !candidate_ && tree_.stage() != adds;
  const Told told = this->told(parties);
  // A model that enough members tell is checked by its hash, so that any member may give it.
  const std::set<NodeId> nobody;
  fetch_.tick(now, may_fetch ? told.lacked : 0, tree_.stage() != none,
              told.by_enough == 0 ? refused_ : nobody, out);
  is_over_ = comes_to_end(now, parties);
  const bool is_busy = stage_ == Stage::settles || fetch_.is_busy() || !is_over_;
  look_.end(now, is_busy);
}

void Settlement::drive(Time now, const Parties& parties, Outbox& out) {
  using enum TallyTree::Stage;
  const bool works = running_ != Work::none || candidate_ || tree_.stage() == adds;
  if (tree_.stage() != none && !works && tree_.is_stuck(now)) tree_.leave();
  const auto root = next_root(parties);
  const Duration patience = late_patience();
  const bool may_begin = may_sum(parties, now, since_, told(parties).lacked != 0);
  if (tree_.stage() == none && root == around_.members.self() && may_begin && !candidate_) {
    const TallyTree::Sum sum{tree_.sum().epoch + 1, around_.members.self(), end_.best_round()};
    const TallyTree::Calls whom =
        sums(options_, refusals_, sum.epoch) ? calls(now, since_) : TallyTree::Calls::nobody;
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
  look_.touch(now);
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
  const std::size_t ended = Parties(around_.members, options_.needs.liars).ended();
  const bool may_lack = epoch > kFullEpochs || now >= since_ + kSettlePatience;
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
  const Parties parties(around_.members, options_.needs.liars);
  if (refusals_ >= kModelRefusalsMost || !next_root(parties)) return give_up(problem, out);
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
  const Told told = this->told(Parties(around_.members, options_.needs.liars));
  const bool is_lacked = sealed() == 0 || told.lacked != 0;
  if (!is_awaited || payload.empty() || candidate_ || !is_lacked) return;
  const std::uint64_t models = std::max<std::uint64_t>(1, message.models);
  candidate_ = Candidate{from, {std::move(payload), models}, message.round, told.by_enough};
}

void Settlement::seal(Time now, const Candidate& candidate, std::uint64_t hash, Outbox& out) {
  const bool is_other = sealed() != 0;
  since_ = now;
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
Settlement::Told Settlement::told(const Parties& parties) const {
  const auto [model, count] = parties.most_told(sealed(), refused_);
  const bool is_enough = count >= parties.enough();
  const bool is_lacked = (sealed() == 0 ? count > 0 : is_enough && model != sealed());
  return {.by_enough = is_enough ? model : 0, .lacked = is_lacked && problem_.empty() ? model : 0};
}

bool Settlement::comes_to_end(Time now, const Parties& parties) const {
  if (stage_ != Stage::over) return false;
  return sealed() == 0 || now >= since_ + kSettlePatience || parties.all_others_tell(sealed());
}

std::string Settlement::reason() const {
  if (stage_ != Stage::settles) return problem_;
  if (tree_.stage() != TallyTree::Stage::none) return "the models of all nodes become one";
  std::string names;
  const Parties parties(around_.members, options_.needs.liars);
  for (const Member* member : parties.here())
    if (!parties.is_self(*member) && !has_ended(*member))
      names += (names.empty() ? "" : ", ") + member->name;
  return names.empty() ? "waits for the sum of all models"
                       : fmt::format("the run ends; waits for {}", names);
}

}  // namespace starling::gossip
