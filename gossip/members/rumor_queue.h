// RumorQueue: the members whose rumors are still sent, the least sent first, and among equals in
// the order of arrival. An operation costs the same for any number of rumors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/hash_table.h"
#include "base/ids.h"

namespace starling::gossip {

class RumorQueue {
 public:
  // Adds a rumor of the member, not sent yet, in place of an earlier one.
  void add(NodeId id);
  void forget(NodeId id) { states_.erase(id); }
  void clear() { states_.clear(), lines_.clear(); }
  // Counts the rumor of the member, if there is one, as sent `times` more times.
  void count(NodeId id, std::int64_t times);
  // Counts all rumors as sent `times` more times. Drops those that were sent `most` times.
  void count_all(std::int64_t times, std::int64_t most);
  // Returns up to `limit` members, and counts their rumors as sent once more. Drops those that were
  // sent `most` times.
  std::vector<NodeId> take(std::size_t limit, std::int64_t most);
  bool empty() const { return states_.empty(); }
  std::size_t size() const { return states_.size(); }

 private:
  struct State {
    std::int64_t told = 0;     // zero_ + the number of sendings
    std::uint64_t ticket = 0;  // of the rumor's one valid place
  };
  // A place in a line; no longer valid if the rumor has another ticket.
  struct Place {
    NodeId id;
    std::uint64_t ticket = 0;
  };
  void put(NodeId id, State& state);
  bool is_valid(const Place& place) const;
  void free_memory();

  HashMap<NodeId, State> states_;
  std::map<std::int64_t, std::deque<Place>> lines_;  // by State::told when the place was taken
  std::int64_t zero_ = 0;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace starling::gossip
