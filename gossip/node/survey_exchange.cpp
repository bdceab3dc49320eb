#include "gossip/node/survey_exchange.h"

#include <algorithm>
#include <utility>

#include "gossip/wire/wire.h"

namespace starling::gossip {
namespace {

// Bytes of all surveys that are kept: a hundred of the largest.
constexpr std::size_t kSurveysBytesLimit = 100 * kSurveyBytesLimit;
// The founders of a crowd to which a node sends in one turn. Larger: surveys that two founders send
// to a third at once take more of its link. Smaller: more turns.
constexpr std::size_t kToldAtOnce = 2;

}  // namespace

SurveyExchange::SurveyExchange(const Options& options)
    : self_(node_id(options.name)),
      is_relay_(is_relay(options)),
      prng_(Prng::derive(options.seed, self_.value ^ 2)) {}

void SurveyExchange::forget_others() {
  std::erase_if(surveys_, [&](const auto& survey) { return survey.first != self_; });
  held_.clear();
  bytes_ = 0;
}

bool SurveyExchange::has_all(const Founders& founders) const {
  return std::ranges::all_of(founders, [&](const Member* founder) {
    const auto known = surveys_.find(founder->id);
    return known != surveys_.end() &&
           (founder->id == self_ || known->second.incarnation == founder->incarnation);
  });
}

std::vector<std::string> SurveyExchange::of(const Founders& founders) const {
  std::vector<std::string> surveys;
  for (const Member* founder : founders)
    if (const auto found = surveys_.find(founder->id); found != surveys_.end())
      surveys.push_back(found->second.statistics);
  return surveys;
}

void SurveyExchange::renew_own(const Outbox& out) {
  if (const auto own = surveys_.find(self_); own != surveys_.end())
    own->second.incarnation = out.envelope().incarnation;
}

bool SurveyExchange::is_news(const Survey& heard, NodeId teller) const {
  if (heard.founder == self_) return false;
  const auto known = surveys_.find(heard.founder);
  if (known == surveys_.end()) return true;
  if (heard.incarnation != known->second.incarnation)
    return heard.incarnation > known->second.incarnation;
  return heard.founder == teller && heard.statistics != known->second.statistics;
}

void SurveyExchange::keep(const Survey& heard, NodeId teller, Notary& notary) {
  if (!is_news(heard, teller)) return;
  const auto known = surveys_.find(heard.founder);
  const std::size_t before = known == surveys_.end() ? 0 : known->second.statistics.size();
  if (bytes_ - before + heard.statistics.size() > kSurveysBytesLimit) return;
  if (known == surveys_.end() && surveys_.size() >= kMembersLimit) return;
  const auto is_sound = notary.verify_survey(heard);
  if (is_sound == false) notary.refuse("survey");
  if (is_sound != true) return;
  bytes_ += heard.statistics.size() - before;
  surveys_[heard.founder] = heard;
}

// So that others send the survey of the life that a founder is in.
void SurveyExchange::forget_earlier_lives(const Founders& founders) {
  for (const Member* founder : founders) {
    const auto known = surveys_.find(founder->id);
    if (founder->id == self_ || known == surveys_.end()) continue;
    if (known->second.incarnation >= founder->incarnation) continue;
    bytes_ -= known->second.statistics.size();
    surveys_.erase(known);
  }
}

bool SurveyExchange::holds(NodeId founder, NodeId survey) const {
  const auto told = held_.find(founder);
  return founder == survey ||
         (told != held_.end() && std::ranges::binary_search(told->second, survey));
}

std::vector<NodeId> SurveyExchange::known() const {
  std::vector<NodeId> ids;
  for (const auto& [id, survey] : surveys_) ids.push_back(id);
  return ids;
}

// A message with the surveys that the founder seems to lack, up to the size limit.
Surveys SurveyExchange::lacked_by(NodeId founder, bool relays) const {
  Surveys message{known(), {}};
  std::size_t bytes = 0;
  for (const auto& [id, survey] : surveys_) {
    if ((!relays && id != self_) || holds(founder, id)) continue;
    if (bytes > 0 && bytes + survey.statistics.size() > kSurveyBytesLimit) continue;
    bytes += survey.statistics.size();
    message.surveys.push_back(survey);
  }
  return message;
}

void SurveyExchange::tell(const Founders& founders, bool relays, Outbox& out) {
  renew_own(out);
  forget_earlier_lives(founders);
  if (founders.size() > kFoundersTold + 1) return tell_some(founders, out);
  for (const Member* founder : founders) {
    if (founder->id == self_) continue;
    Surveys message = lacked_by(founder->id, relays);
    if (!message.surveys.empty() || !surveys_.contains(founder->id))
      out.send(founder->id, std::move(message));
  }
}

// In a crowd a node hardly knows what another founder holds: it sends the list of what it holds
// itself, and gets what it lacks.
void SurveyExchange::tell_some(const Founders& founders, Outbox& out) {
  for (std::size_t k = 0; k < kToldAtOnce; ++k) {
    const Member* founder = founders[prng_.below(founders.size())];
    if (founder->id != self_) send(founder->id, lacked_by(founder->id, false), out);
  }
}

void SurveyExchange::receive(const Surveys& message, NodeId from, const Founders& founders,
                             bool is_past, Outbox& out) {
  for (const Survey& survey : message.surveys) keep(survey, from, out.notary());
  if (held_.size() >= kMembersLimit && !held_.contains(from)) return;
  std::vector<NodeId>& held = held_[from];
  held = message.held;
  std::ranges::sort(held);
  const auto sender = std::ranges::find(founders, from, &Member::id);
  const bool passes_on = is_relay_ || founders.size() > kFoundersTold + 1;
  if (sender == founders.end() || (!passes_on && !is_past)) return;
  renew_own(out);
  Surveys answer = lacked_by(from, passes_on);
  if (!answer.surveys.empty()) send(from, std::move(answer), out);
}

// Assumes that the founder received it, until the founder's own list comes.
void SurveyExchange::send(NodeId founder, Surveys message, Outbox& out) {
  std::vector<NodeId>& held = held_[founder];
  for (const Survey& survey : message.surveys) held.push_back(survey.founder);
  std::ranges::sort(held);
  out.send(founder, std::move(message));
}

}  // namespace starling::gossip
