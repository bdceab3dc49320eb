#include "gossip/members/agreement.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace starling::gossip {
namespace {

// The pause between two scans of all members. Longer: a difference is reported later. Shorter: when
// many nodes join at once, each node scans all members once per newcomer.
constexpr Duration kLookEvery = std::chrono::milliseconds(50);
constexpr Duration kAskPauseLimit = std::chrono::seconds(5);
// How many other agreements this node keeps, and how many members of each it names.
constexpr std::size_t kKindsLimit = 16, kNamesLimit = 3;

}  // namespace

Agreement::Agreement(const Options& options)
    : terms_(agreed(options)), hash_(agreement_of(terms_)), retry_(options.timing.retry) {
  ENSURE(terms_.size() <= kTermsLimit, "a message holds all agreed keys");
}

void Agreement::look(Time now, const Roster& members) {
  members_version_ = members.version();
  if (members.counts().agreeing == members.present_others().size()) return kinds_.clear();
  next_look_ = now + kLookEvery;
  for (auto& [hash, kind] : kinds_) kind.members.clear(), kind.names.clear();
  for (const Member* member : members.present()) {
    if (member->agreement == hash_) continue;
    if (!kinds_.contains(member->agreement) && kinds_.size() >= kKindsLimit) continue;
    Kind& kind = kinds_.try_emplace(member->agreement, Kind{{}, {}, {}, now, retry_}).first->second;
    kind.members.push_back(member->id);
    if (kind.names.size() < kNamesLimit) kind.names.push_back(member->name);
  }
  std::erase_if(kinds_, [](const auto& item) { return item.second.members.empty(); });
}

void Agreement::tick(Time now, const Roster& members, Outbox& out) {
  if (members_version_ != members.version() && now >= next_look_) look(now, members);
  for (auto& [hash, kind] : kinds_)
    if (kind.terms.empty() && now >= kind.next_ask) ask(now, kind, members, out);
}

// This node asks the member whose id follows its own, so that not all nodes ask the same member.
void Agreement::ask(Time now, Kind& kind, const Roster& members, Outbox& out) {
  kind.next_ask = now + kind.pause;
  kind.pause = std::min(kind.pause * 2, kAskPauseLimit);
  const auto distance = [self = members.self().value](NodeId id) { return id.value - self; };
  const NodeId asked = *std::ranges::min_element(kind.members, {}, distance);
  if (members.find(asked)) out.send(asked, Terms{true, terms_});
}

Time Agreement::deadline(const Roster& members) const {
  Time next = members_version_ == members.version() ? kNever : next_look_;
  for (const auto& [hash, kind] : kinds_)
    if (kind.terms.empty()) next = std::min(next, kind.next_ask);
  return next;
}

void Agreement::receive(const Envelope& from, const Terms& message, const Roster& members,
                        Outbox& out) {
  const Member* sender = members.find(from.sender);
  const std::uint64_t hash = agreement_of(message.terms);
  if (!sender || hash == hash_ || sender->agreement != hash) return;
  if (message.asks) out.send(from.sender, Terms{false, terms_});
  if (kinds_.size() < kKindsLimit || kinds_.contains(hash)) {
    Kind& kind = kinds_[hash];
    kind.terms = message.terms;
    if (kind.members.empty()) kind.members = {sender->id}, kind.names = {sender->name};
  }
}

std::vector<std::string> Agreement::warnings() const {
  std::vector<std::string> warnings;
  for (const auto& [hash, kind] : kinds_)
    for (const std::string& name : kind.names)
      warnings.push_back(fmt::format("no edge to {}: {}", name,
                                     kind.terms.empty()
                                         ? "it differs in a key on which nodes must agree"
                                         : difference(kind.terms, terms_)));
  return warnings;
}

std::string Agreement::remainder() const {
  std::size_t unnamed = 0;
  for (const auto& [hash, kind] : kinds_) unnamed += kind.members.size() - kind.names.size();
  return unnamed == 0 ? "" : fmt::format("no edge to {} more that have these values", unnamed);
}

}  // namespace starling::gossip
