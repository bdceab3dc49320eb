// FounderCount: counts the members with data that a node expects before it begins, and the ready
// ones among them. A node waits as long as members keep coming or becoming ready, and begins
// without the rest; or, with an endless patience, until all have come, unless somebody has trained
// before. Relays are not expected, but those that are there are awaited until they are ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"

namespace starling::gossip {

class FounderCount {
 public:
  FounderCount(const Options& options, Time now)
      : expect_(options.expect),
        patience_(options.expect_patience),
        known_at_(now),
        counted_at_(now) {}

  // `is_ready`: this node is. `joins`: it need not wait for others to be ready.
  void count(Time now, const Roster& members, bool is_ready, bool joins);
  // The node begins without the missing members, and never waits for them again.
  void close() { is_short_ = known_ < expect_; }
  bool is_short() const { return is_short_; }
  // Whether all expected members are known, or the last one came too long ago.
  bool is_known(Time now) const {
    return known_ >= expect_ || (!waits_on() && now - known_at_ >= patience());
  }
  // Whether somebody has trained, so that members that stay away need not found the model.
  void set_founded(bool is_founded) { is_founded_ = is_founded; }
  std::size_t known() const { return known_; }
  // When the wait for ready members ended; nothing: it goes on.
  std::optional<Time> complete_since() const { return complete_since_; }
  // Warns of missing expected members. `gathers`: the node still waits for them.
  std::optional<std::string> warning(Time now, bool gathers) const;
  // Whether expected members are missing that the node waits for.
  bool is_awaited() const { return known_ < expect_ && !is_short_; }
  // "2 of 3 expected"
  std::string tally() const;

 private:
  // Whether it waits for the rest for as long as it takes.
  bool waits_on() const { return patience_ == Duration::zero() && !is_founded_; }
  Duration patience() const { return patience_ > Duration::zero() ? patience_ : kPatience; }

  // For members that are not needed to found the model, or are known and not ready.
  static constexpr Duration kPatience = std::chrono::seconds(10);
  std::size_t expect_;
  Duration patience_;
  bool is_founded_ = false;
  Time known_at_;                                // when the last expected member came
  Time counted_at_;                              // when the last member came or became ready
  std::size_t most_known_ = 0, most_ready_ = 0;  // highest so far
  std::size_t known_ = 1, ready_ = 0;            // now; of the ready ones relays too
  std::size_t relays_ = 0;                       // now
  bool is_short_ = false;                        // goes on without some expected members
  std::uint64_t version_ = 0;                    // Roster::version() at the last count
  std::optional<Time> complete_since_;
};

}  // namespace starling::gossip
