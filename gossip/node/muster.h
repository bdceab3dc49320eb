// Muster: counts the members with data that a node expects before it begins, and the ready ones
// among them. A node waits as long as members keep coming or becoming ready, and begins without the
// rest. Relays are not expected, but those that are there are awaited until they are ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"

namespace starling::gossip {

class Muster {
 public:
  Muster(const Options& options, Time now)
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
  bool is_known(Time now) const { return known_ >= expect_ || now - known_at_ >= patience_; }
  std::size_t known() const { return known_; }
  // When the wait for ready members ended; nothing: it goes on.
  std::optional<Time> complete_since() const { return complete_since_; }
  // Warns of missing expected members. `gathers`: the node still waits for them.
  std::optional<std::string> warning(Time now, bool gathers) const;
  // "2 of 3 expected"
  std::string tally() const;

 private:
  std::size_t expect_;
  Duration patience_;
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
