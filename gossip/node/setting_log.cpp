#include "gossip/node/setting_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/planted.h"
#include "base/prng.h"
#include "gossip/node/coming_round.h"

namespace starling::gossip {
namespace {

constexpr Duration kAskPauseLimit = std::chrono::seconds(5);
// To how many members a node passes news on. More: more bytes. Fewer: where much is lost, some
// nodes learn of a change only by asking.
constexpr std::size_t kSpread = 4;

// "optim.learning-rate = 0.01, optim.local-steps = 4".
std::string words_of(const auto& values) {
  std::vector<std::string> words;
  for (const auto& [key, value] : values) words.push_back(fmt::format("{} = {}", key, value));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

void SettingLog::set(const ConfigureCommand& command, std::uint64_t round, std::uint64_t soon,
                     const Roster& members, Outbox& out) {
  for (const Term& term : command.own) {
    std::erase_if(own_,
                  [&](const SettingsStatus::Own& own) { return own.term.first == term.first; });
    own_.push_back({term, round});
    is_new_ = true;
  }
  if (!command.own.empty()) {
    out.event(Event::Kind::settings, fmt::format("set: {}", words_of(command.own)));
    take(round_, out);
  }
  if (command.agreed.empty()) return;
  if (!out.notary().may_change_settings())
    return out.event(Event::Kind::problem,
                     "sets nothing at all nodes: its certificate is not of the group operator");
  SettingChange change{.round = command.at_round > 0 ? command.at_round : after_others(round, soon),
                       .author = options_.name,
                       .terms = command.agreed};
  for (const SettingChange& known : changes_) change.number = std::max(change.number, known.number);
  // A forged change may have the last number.
  change.number = std::min(change.number + 1, kRoundLimit);
  out.notary().sign(change);
  if (!add(change)) return;
  spread(members, out);
  out.event(Event::Kind::settings, fmt::format("set from round {} on, at all nodes: {}",
                                               change.round, words_of(change.terms)));
}

// What is set later must not hold earlier, although rounds may have become longer since; but it
// does not wait for a change that was set for a far round on purpose.
std::uint64_t SettingLog::after_others(std::uint64_t round, std::uint64_t soon) const {
  constexpr std::uint64_t kFar = 4;
  const std::uint64_t far = soon + kFar * (soon - std::min(round, soon));
  for (const SettingChange& change : changes_)
    if (change.round <= far) soon = std::max(soon, change.round);
  return soon;
}

bool SettingLog::add(const SettingChange& change) {
  const auto place = std::ranges::lower_bound(changes_, change.order(), {}, &SettingChange::order);
  if (place != changes_.end() && place->order() == change.order()) return false;
  if (changes_.size() >= kSettingChangesLimit) return false;
  changes_.insert(place, change);
  is_new_ = true;
  return true;
}

void SettingLog::receive(const Envelope& from, const SettingChanges& theirs, std::uint64_t own,
                         const Roster& members, Outbox& out) {
  has_heard_ = true;
  const Member* sender = members.find(from.sender);
  const std::uint64_t last =
      std::max(believable_round(members, own), sender ? sender->round : std::uint64_t{0});
  bool has_news = false;
  for (const SettingChange& change : theirs.changes) {
    if (std::ranges::binary_search(changes_, change.order(), {}, &SettingChange::order)) continue;
    if (change.round > last) continue;
    if (const auto verified = out.notary().verify(change); !verified)
      out.notary().refuse(verified.error().text);
    else
      has_news |= add(change);
  }
  if (has_news) spread(members, out);
  if (theirs.asks) out.send(from.sender, SettingChanges{false, changes_});
}

// To members that lie evenly in the order of ids, so that all nodes are told by several.
void SettingLog::spread(const Roster& members, Outbox& out) const {
  std::vector<NodeId> others = members.present_others();
  const auto distance = [self = members.self().value](NodeId id) { return id.value - self; };
  std::ranges::sort(others, {}, distance);
  const std::size_t count = std::min(kSpread, others.size());
  for (std::size_t k = 0; k < count; ++k)
    out.send(others[k * others.size() / count], SettingChanges{false, changes_});
}

// The member whose log differs and whose id follows this node's: so not all nodes ask the same one.
std::optional<NodeId> SettingLog::other_log(const Roster& members) const {
  const std::uint64_t known = hash();
  const auto distance = [self = members.self().value](NodeId id) { return id.value - self; };
  std::optional<NodeId> nearest;
  for (const Member* member : members.present()) {
    const bool differs =
        member->id != members.self() && member->changes != 0 && member->changes != known;
    if (differs && (!nearest || distance(member->id) < distance(*nearest))) nearest = member->id;
  }
  return nearest;
}

void SettingLog::tick(Time now, const Roster& members, Outbox& out) {
  if (std::exchange(asking_.members_version, members.version()) != members.version() ||
      asking_.asked) {
    const std::optional<NodeId> last = std::exchange(asking_.asked, other_log(members));
    if (!asking_.asked) asking_.next = kNever, asking_.differs_since.reset();
    if (asking_.asked && !last)
      asking_.next = now, asking_.pause = options_.timing.retry, asking_.differs_since = now;
  }
  if (!asking_.asked || now < asking_.next) return;
  out.send(*asking_.asked, SettingChanges{true, changes_});
  asking_.next = now + asking_.pause;
  asking_.pause = std::min(asking_.pause * 2, kAskPauseLimit);
}

// The values after these changes, or as many of them as go together: one that does not go with
// those before it is left out, alike at every node.
SettingLog::Outcome SettingLog::follow(std::span<const Step> steps) const {
  Outcome whole;
  for (const Step& step : steps)
    for (const auto& [key, value] : step.terms) whole.values[key] = value;
  const auto tried = [this](const Values& values) {
    return options_.reconfigure(std::vector<Term>(values.begin(), values.end()));
  };
  if (const auto next = tried(whole.values)) return whole.next = *next, whole;
  Outcome some;
  for (const Step& step : steps) {
    Values values = some.values;
    for (const auto& [key, value] : step.terms) values[key] = value;
    if (const auto next = tried(values))
      some.values = std::move(values), some.next = *next;
    else
      some.problem =
          fmt::format("{}, of {}: {}", words_of(step.terms), step.author, next.error().text);
  }
  return some;
}

std::shared_ptr<const optim::Options> SettingLog::enter(std::uint64_t round, const Roster& members,
                                                        ExchangeBudget& budget, Outbox& out) {
  round_ = round;
  if (has_other_edges(members))
    round_ = std::max(round, reached_round(members, options_.needs.liars));
  take(round_, out);
  if (training_) budget.take(options_.local_steps);
  return std::exchange(training_, nullptr);
}

std::shared_ptr<const optim::Options> SettingLog::renew(ExchangeBudget& budget, Outbox& out) {
  take(round_, out, true);
  budget = ExchangeBudget(options_.local_steps, options_.encodings);
  return std::exchange(training_, nullptr);
}

bool SettingLog::has_due(std::uint64_t round) const {
  return is_new_ || round >= due_;
}

std::vector<SettingLog::Step> SettingLog::steps_until(std::uint64_t round) const {
  std::vector<Step> steps;
  for (const SettingChange& change : changes_)
    if (change.round <= round) steps.push_back({change.author, change.terms});
  for (const SettingsStatus::Own& own : own_) steps.push_back({options_.name, {own.term}});
  return steps;
}

bool SettingLog::has_other_edges(const Roster& members) const {
  if (changes_.empty() || !options_.reconfigure) return false;
  const std::uint64_t reached = reached_round(members, options_.needs.liars);
  if (!has_due(reached)) return false;
  const Outcome outcome = follow(steps_until(reached));
  return outcome.next &&
         (form_of(*outcome.next->node) != form_of(options_) ||
          topology::agreed(outcome.next->node->topology) != topology::agreed(options_.topology));
}

void SettingLog::take(std::uint64_t round, Outbox& out, bool renews) {
  const std::uint64_t begun = PLANTED(set_late) && round > 0 ? round - 1 : round;
  if (!has_due(begun)) return;
  is_new_ = needs_renewal_ = false;
  due_ = kNoRound;
  for (const SettingChange& change : changes_)
    if (change.round > begun) due_ = std::min(due_, change.round);
  const std::vector<Step> steps = steps_until(begun);
  if (steps.empty()) return;
  if (!options_.reconfigure) {
    problem_ = "this program changes none while it runs";
    return out.event(Event::Kind::problem, warning());
  }
  Outcome outcome = follow(steps);
  if (problem_ != outcome.problem && !outcome.problem.empty()) {
    problem_ = outcome.problem;
    out.event(Event::Kind::problem, warning());
  }
  problem_ = outcome.problem;
  if (!outcome.next || outcome.values == in_force_) return;
  if (!renews && form_of(*outcome.next->node) != form_of(options_)) {
    needs_renewal_ = !PLANTED(renewal_missed);
    is_new_ = true;
    return;
  }
  Values news;
  std::ranges::set_difference(outcome.values, in_force_, std::inserter(news, news.end()));
  in_force_ = std::move(outcome.values);
  put_in_force(*outcome.next, round);
  out.event(Event::Kind::settings, fmt::format("from round {} on: {}", round, words_of(news)));
}

void SettingLog::put_in_force(const Reconfigured& next, std::uint64_t round) {
  if (topology::agreed(next.node->topology) != topology::agreed(options_.topology))
    has_new_topology_ = true;
  if (next.node->goal != options_.goal) new_goal_ = round;
  take_live(options_, *next.node);
  training_ = next.training;
}

std::uint64_t SettingLog::hash() const {
  if (changes_.empty()) return 0;
  std::uint64_t hash = 0;
  for (const SettingChange& change : changes_) {
    hash = mix64(mix64(hash ^ change.round) ^ change.number ^ stable_hash(change.author));
    for (const auto& [key, value] : change.terms)
      hash = mix64(mix64(hash ^ stable_hash(key)) ^ stable_hash(value));
  }
  return std::max<std::uint64_t>(1, hash);
}

std::string SettingLog::warning() const {
  if (!problem_.empty())
    return fmt::format("does not follow a change of settings: {}; keeps the values before",
                       problem_);
  if (changes_.size() >= kSettingChangesLimit)
    return fmt::format(
        "takes no further change of agreed settings: a run has {} at most; start its nodes anew "
        "with the present values",
        kSettingChangesLimit);
  return {};
}

}  // namespace starling::gossip
