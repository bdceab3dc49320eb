#include "gossip/members/rumor_queue.h"

namespace starling::gossip {

void RumorQueue::add(NodeId id) {
  State& state = states_[id];
  state.told = zero_;
  put(id, state);
}

void RumorQueue::put(NodeId id, State& state) {
  state.ticket = ++last_ticket_;
  lines_[state.told].push_back({id, state.ticket});
}

bool RumorQueue::is_valid(const Place& place) const {
  const auto state = states_.find(place.id);
  return state != states_.end() && state->second.ticket == place.ticket;
}

// The rumor keeps its place until its turn: most are received several times before that.
void RumorQueue::count(NodeId id, std::int64_t times) {
  if (auto state = states_.find(id); state != states_.end()) state.value().told += times;
}

void RumorQueue::count_all(std::int64_t times, std::int64_t most) {
  zero_ -= times;
  const auto old = lines_.lower_bound(zero_ + most);
  for (auto line = old; line != lines_.end(); ++line)
    for (const Place& place : line->second)
      if (is_valid(place)) states_.erase(place.id);
  lines_.erase(old, lines_.end());
  free_memory();
}

// Much memory is needed only while many nodes join.
void RumorQueue::free_memory() {
  if (states_.empty()) clear();
}

std::vector<NodeId> RumorQueue::take(std::size_t limit, std::int64_t most) {
  std::vector<NodeId> taken;
  for (auto line = lines_.begin(); line != lines_.end() && taken.size() < limit;) {
    const Place place = line->second.front();
    line->second.pop_front();
    if (is_valid(place)) {
      State& state = states_[place.id];
      if (state.told >= zero_ + most)
        states_.erase(place.id);
      else if (state.told > line->first)
        put(place.id, state);
      else
        taken.push_back(place.id);
    }
    if (line->second.empty()) line = lines_.erase(line);
  }
  for (const NodeId id : taken) {
    State& state = states_[id];
    if (++state.told >= zero_ + most)
      states_.erase(id);
    else
      put(id, state);
  }
  free_memory();
  return taken;
}

}  // namespace starling::gossip
