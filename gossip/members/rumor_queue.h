// RumorQueue: whose rumors are still told, those told least first, and among these in the order in
// which they came. Each operation costs the same for however many rumors.
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
  // A rumor of the member, told to nobody yet, takes the place of an earlier one.
  void add(NodeId id);
  void forget(NodeId id) { states_.erase(id); }
  void clear() { states_.clear(), lines_.clear(); }
  // The rumor of the member, if there is one, counts as told so many times more.
  void count(NodeId id, std::int64_t times);
  // So do all rumors; those that were told `most` times are forgotten.
  void count_all(std::int64_t times, std::int64_t most);
  // Returns up to `limit` members, and counts their rumors as told once more. Those that were told
  // `most` times are forgotten.
  std::vector<NodeId> take(std::size_t limit, std::int64_t most);
  bool empty() const { return states_.empty(); }
  std::size_t size() const { return states_.size(); }

 private:
  struct State {
    std::int64_t told = 0;     // beyond zero_
    std::uint64_t ticket = 0;  // of its one valid place
  };
  // In a line; not valid any more if the rumor has another ticket.
  struct Place {
    NodeId id;
    std::uint64_t ticket = 0;
  };
  void put(NodeId id, State& state);
  bool is_valid(const Place& place) const;
  void free_memory();

  HashMap<NodeId, State> states_;
  std::map<std::int64_t, std::deque<Place>> lines_;  // by State::told, or by less
  std::int64_t zero_ = 0;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace starling::gossip
