#include "gossip/node/founder_count.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace starling::gossip {
namespace {

constexpr Duration kWorthSaying = std::chrono::seconds(2);  // before a missing member is reported

}  // namespace

void FounderCount::count(Time now, const Roster& members, bool is_ready, bool joins) {
  if (std::exchange(version_, members.version()) != members.version()) {
    relays_ = relay_count(members);
    known_ = members.present_count() - relays_;
    ready_ = ready_count(members);
    if (known_ > most_known_) known_at_ = counted_at_ = now;
    if (ready_ > most_ready_) counted_at_ = now;
    most_known_ = std::max(most_known_, known_);
    is_short_ = is_short_ && known_ < expect_;
    most_ready_ = std::max(most_ready_, ready_);
  }
  const std::size_t awaited = relays_ + (is_short_ ? std::min(expect_, known_) : expect_);
  const bool is_enough = joins || ready_ >= awaited || now - counted_at_ >= patience();
  if (is_ready && !complete_since_ && is_enough) complete_since_ = now;
}

std::optional<std::string> FounderCount::warning(Time now, bool gathers) const {
  if (known_ >= expect_) return std::nullopt;
  if (gathers && now - known_at_ >= kWorthSaying && waits_on())
    return fmt::format(
        "{} of {} expected members are here (cluster.expect); waiting for the rest for as long as "
        "it takes; cluster.expect = {} at each of them begins without the rest",
        known_, expect_, known_);
  if (gathers && now - known_at_ >= kWorthSaying)
    return fmt::format("{} of {} expected members are here (cluster.expect); waiting for the rest",
                       known_, expect_);
  if (is_short_)
    return fmt::format(
        "{} of {} expected members came (cluster.expect); the rest is not waited for", most_known_,
        expect_);
  return std::nullopt;
}

std::string FounderCount::tally() const {
  return fmt::format("{} of {} expected", known_, expect_);
}

}  // namespace starling::gossip
