#include "sim/partial_views.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace starling::sim {
namespace {

using Id = PartialViews::Id;

// Hops of a walk that tells of a newcomer, and after how many it enters a passive view.
constexpr int kJoinHops = 6, kPassiveHops = 3, kShuffleHops = 4;
constexpr std::size_t kShuffledActive = 3, kShuffledPassive = 5;
// Of an id with an address and an incarnation, and of a message without ids.
constexpr std::size_t kEntryBytes = 48, kHeaderBytes = 32;

std::uint64_t position(Id id, std::size_t ring) {
  return mix64(mix64(id + 1) ^ ((ring + 1) * 0x9E3779B97F4A7C15));
}

bool contains(std::span<const Id> ids, Id id) {
  return std::ranges::find(ids, id) != ids.end();
}

}  // namespace

void PartialViews::start() {
  const auto id = static_cast<Id>(nodes_.size());
  nodes_.emplace_back();
  for (std::size_t ring = 0; ring < kRings; ++ring) positions_[ring].push_back(position(id, ring));
  ++alive_;
}

// ---------------------------------------------------------------- messages

// Whether the other lives. The message has so many ids.
bool PartialViews::reach(Id from, Id to, std::size_t ids) {
  ++messages_;
  bytes_ += static_cast<double>(kHeaderBytes + ids * kEntryBytes);
  if (nodes_[to].is_alive) return true;
  forget(from, to);
  return false;
}

void PartialViews::forget(Id node, Id dead) {
  Node& self = nodes_[node];
  std::erase(self.active, dead);
  std::erase(self.passive, dead);
  for (auto& ring : self.rings)
    for (Side& side : ring)
      std::erase_if(side, [&](const Known& known) { return known.id == dead; });
  std::erase_if(self.gone, [&](const auto& item) { return item.second <= cycle_; });
  self.gone.emplace_back(dead, cycle_ + kFreshCycles);
}

// ---------------------------------------------------------------- active and passive views

void PartialViews::join() {
  Id contact = 0;
  do contact = static_cast<Id>(prng_.below(nodes_.size()));
  while (!nodes_[contact].is_alive);
  const auto newcomer = static_cast<Id>(nodes_.size());
  start();
  nodes_[newcomer].count = nodes_[contact].count;
  reach(newcomer, contact, 1);
  connect(newcomer, contact);
  merge(newcomer, known_to(contact));
  for (const Id other : std::vector(nodes_[contact].active))
    if (other != newcomer && reach(contact, other, 1))
      forward_join(newcomer, other, contact, kJoinHops);
}

void PartialViews::forward_join(Id newcomer, Id at, Id from, int hops) {
  for (; hops > 0 && nodes_[at].active.size() > 1; --hops) {
    if (hops == kPassiveHops) remember(at, newcomer);
    std::vector<Id> others = nodes_[at].active;
    std::erase(others, from);
    std::erase(others, newcomer);
    if (others.empty()) break;
    const Id next = any_of(others);
    if (!reach(at, next, 1)) continue;
    from = at;
    at = next;
  }
  if (at != newcomer) connect(at, newcomer);
}

// Both know each other from now on.
void PartialViews::connect(Id a, Id b) {
  if (a == b || contains(nodes_[a].active, b)) return;
  make_room(a);
  make_room(b);
  nodes_[a].active.push_back(b);
  nodes_[b].active.push_back(a);
  std::erase(nodes_[a].passive, b);
  std::erase(nodes_[b].passive, a);
}

void PartialViews::make_room(Id node) {
  if (nodes_[node].active.size() < kActive) return;
  const Id dropped = any_of(nodes_[node].active);
  reach(node, dropped, 0);
  disconnect(node, dropped);
}

void PartialViews::disconnect(Id a, Id b) {
  std::erase(nodes_[a].active, b);
  std::erase(nodes_[b].active, a);
  remember(a, b);
  remember(b, a);
}

void PartialViews::remember(Id node, Id other) {
  Node& self = nodes_[node];
  if (node == other || contains(self.active, other) || contains(self.passive, other) ||
      is_gone(self, other))
    return;
  if (self.passive.size() < kPassive)
    self.passive.push_back(other);
  else
    self.passive[prng_.below(kPassive)] = other;
}

void PartialViews::probe(Id node) {
  for (const Id other : std::vector(nodes_[node].active)) reach(node, other, 0);
  refill(node);
}

// Asks passive ones to be active ones; one that has room agrees, and any for a node that has none.
void PartialViews::refill(Id node) {
  for (std::size_t tries = 0;
       tries < kActive && nodes_[node].active.size() < kActive && !nodes_[node].passive.empty();
       ++tries) {
    const Id other = any_of(nodes_[node].passive);
    if (!reach(node, other, 1)) continue;
    if (nodes_[other].active.size() < kActive || nodes_[node].active.empty()) connect(node, other);
  }
}

// Ids of both views walk to another node, and as many of its ids come back.
void PartialViews::shuffle(Id node) {
  if (nodes_[node].active.empty()) return;
  std::vector<Id> sent{node};
  for (std::size_t k = 0; k < kShuffledActive; ++k) sent.push_back(any_of(nodes_[node].active));
  for (std::size_t k = 0; k < kShuffledPassive && !nodes_[node].passive.empty(); ++k)
    sent.push_back(any_of(nodes_[node].passive));
  Id at = node;
  for (int hop = 0; hop < kShuffleHops && !nodes_[at].active.empty(); ++hop) {
    const Id next = any_of(nodes_[at].active);
    if (reach(at, next, sent.size())) at = next;
  }
  if (at == node) return;
  std::vector<Id> back;
  for (std::size_t k = 0; k < sent.size() && !nodes_[at].passive.empty(); ++k)
    back.push_back(any_of(nodes_[at].passive));
  reach(at, node, back.size());
  for (const Id id : sent) remember(at, id);
  for (const Id id : back) remember(node, id);
}

bool PartialViews::is_gone(const Node& self, Id other) const {
  return std::ranges::any_of(
      self.gone, [&](const auto& item) { return item.first == other && item.second > cycle_; });
}

// ---------------------------------------------------------------- rings

std::uint64_t PartialViews::distance(Id from, Id to, std::size_t ring, std::size_t side) const {
  const std::uint64_t ahead = positions_[ring][to] - positions_[ring][from];
  return side == 1 ? ahead : 0 - ahead;
}

void PartialViews::keep_nearest(Side& known, Id center, std::size_t ring, std::size_t side) const {
  const auto kept = static_cast<std::ptrdiff_t>(std::min(known.size(), kNear));
  std::ranges::partial_sort(known, known.begin() + kept, {},
                            [&](const Known& one) { return distance(center, one.id, ring, side); });
  known.resize(static_cast<std::size_t>(kept));
}

// Itself and its active view, which it has just probed, its passive view, which may be dead, and
// what it knows of the rings.
PartialViews::Side PartialViews::known_to(Id node) const {
  const Node& self = nodes_[node];
  Side all{{node, cycle_}};
  for (const Id id : self.active) all.push_back({id, cycle_ - 1});
  for (const Id id : self.passive) all.push_back({id, cycle_ - kFreshCycles + 1});
  for (const auto& ring : self.rings)
    for (const Side& side : ring) all.insert(all.end(), side.begin(), side.end());
  std::ranges::sort(all, [](const Known& a, const Known& b) {
    return a.id != b.id ? a.id < b.id : a.heard > b.heard;
  });
  const auto repeated = std::ranges::unique(all, {}, &Known::id);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

// Those that the node knows and that may be nearest to the other.
PartialViews::Side PartialViews::candidates(Id node, Id of) const {
  Side all = known_to(node), chosen{{node, cycle_}};
  std::erase_if(all, [&](const Known& known) { return known.id == of; });
  for (std::size_t ring = 0; ring < kRings; ++ring)
    for (const std::size_t side : {0u, 1u}) {
      Side nearest = all;
      keep_nearest(nearest, of, ring, side);
      for (const Known& known : nearest)
        if (std::ranges::find(chosen, known.id, &Known::id) == chosen.end())
          chosen.push_back(known);
    }
  return chosen;
}

void PartialViews::merge(Id node, std::span<const Known> told) {
  Node& self = nodes_[node];
  const auto is_stale = [&](const Known& known) { return known.heard + kFreshCycles < cycle_; };
  for (std::size_t ring = 0; ring < kRings; ++ring)
    for (const std::size_t side : {0u, 1u}) {
      Side& known = self.rings[ring][side];
      for (const Known& one : told) {
        if (one.id == node || is_gone(self, one.id)) continue;
        const auto found = std::ranges::find(known, one.id, &Known::id);
        if (found == known.end())
          known.push_back(one);
        else
          found->heard = std::max(found->heard, one.heard);
      }
      std::erase_if(known, is_stale);
      keep_nearest(known, node, ring, side);
    }
}

void PartialViews::probe_neighbors(Id node) {
  for (const Id other : neighbors(node))
    if (reach(node, other, 0)) merge(node, std::vector<Known>{{other, cycle_}});
}

// With one of those that it knows near it, and at times with one far away.
void PartialViews::exchange_rings(Id node) {
  const Node& self = nodes_[node];
  std::vector<Id> near;
  for (const auto& ring : self.rings)
    for (const Side& side : ring)
      for (std::size_t k = 0; k < std::min<std::size_t>(side.size(), 2); ++k)
        near.push_back(side[k].id);
  const bool goes_far = near.empty() || prng_.chance(0.1);
  const std::vector<Id>& among = goes_far ? self.active : near;
  if (among.empty()) return;
  const Id other = any_of(among);
  const Side sent = candidates(node, other);
  if (!reach(node, other, sent.size())) return;
  const Side back = candidates(other, node);
  reach(other, node, back.size());
  merge(other, sent);
  merge(node, back);
}

// kNear nodes on a side lie on an arc. The mean of the arcs over all nodes is that of equal arcs,
// so means with the active view come to the number of nodes; deaths and joins change the arcs.
void PartialViews::estimate(Id node) {
  Node& self = nodes_[node];
  double arcs = 0, found = 0;
  for (std::size_t ring = 0; ring < kRings; ++ring)
    for (const std::size_t side : {0u, 1u}) {
      const Side& known = self.rings[ring][side];
      if (known.empty()) continue;
      arcs += static_cast<double>(distance(node, known.back().id, ring, side)) * 0x1p-64;
      found += static_cast<double>(known.size());
    }
  const double own = arcs > 0 ? found / arcs : 1;
  double sum = 0, count = 0;
  for (const Id other : self.active)
    if (nodes_[other].is_alive) sum += 1 / nodes_[other].count, ++count;
  constexpr double kOwn = 0.05;
  // Means of the inverse: arcs add up, numbers of nodes do not.
  const double mean = count > 0 ? (sum + 1 / self.count) / (count + 1) : 1 / self.count;
  self.count = 1 / ((1 - kOwn) * mean + kOwn / own);
}

void PartialViews::run_cycle() {
  ++cycle_;
  for (Id node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].is_alive) continue;
    probe(node);
    shuffle(node);
    probe_neighbors(node);
    exchange_rings(node);
    estimate(node);
  }
}

void PartialViews::crash(Id node) {
  if (!nodes_[node].is_alive) return;
  nodes_[node] = {};
  nodes_[node].is_alive = false;
  --alive_;
}

// ---------------------------------------------------------------- what a law asks

std::vector<Id> PartialViews::alive() const {
  std::vector<Id> all;
  for (Id node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].is_alive) all.push_back(node);
  return all;
}

std::vector<Id> PartialViews::neighbors(Id node) const {
  std::vector<Id> found;
  for (const auto& ring : nodes_[node].rings)
    for (const Side& side : ring)
      if (!side.empty() && !contains(found, side.front().id)) found.push_back(side.front().id);
  return found;
}

std::size_t PartialViews::largest_part() const {
  std::vector<bool> is_seen(nodes_.size());
  std::size_t largest = 0;
  for (const Id first : alive()) {
    if (is_seen[first]) continue;
    std::vector<Id> part{first};
    is_seen[first] = true;
    for (std::size_t k = 0; k < part.size(); ++k)
      for (const Id next : nodes_[part[k]].active)
        if (nodes_[next].is_alive && !is_seen[next]) is_seen[next] = true, part.push_back(next);
    largest = std::max(largest, part.size());
  }
  return largest;
}

double PartialViews::right_neighbors() const {
  double right = 0, all = 0;
  for (std::size_t ring = 0; ring < kRings; ++ring) {
    std::vector<Id> order = alive();
    std::ranges::sort(order, {}, [&](Id id) { return positions_[ring][id]; });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto& [before, after] = nodes_[order[k]].rings[ring];
      const Id next = order[(k + 1) % order.size()];
      const Id last = order[(k + order.size() - 1) % order.size()];
      right += !after.empty() && after.front().id == next;
      right += !before.empty() && before.front().id == last;
      all += 2;
    }
  }
  return right / all;
}

double PartialViews::count_error() const {
  double worst = 0;
  const auto count = static_cast<double>(alive_);
  for (const Node& node : nodes_)
    if (node.is_alive) worst = std::max(worst, std::abs(node.count / count - 1));
  return worst;
}

double PartialViews::largest_share() const {
  std::vector<double> share(nodes_.size());
  for (std::size_t ring = 0; ring < kRings; ++ring)
    for (const Id node : alive())
      if (const Side& after = nodes_[node].rings[ring][1]; !after.empty())
        share[node] += static_cast<double>(distance(node, after.front().id, ring, 1)) * 0x1p-64;
  return *std::ranges::max_element(share) / kRings * static_cast<double>(alive_);
}

PartialViews::Traffic PartialViews::take_traffic() {
  const auto count = static_cast<double>(alive_);
  const Traffic traffic{messages_ / count, bytes_ / count};
  messages_ = bytes_ = 0;
  return traffic;
}

std::size_t PartialViews::memory_bytes() const {
  std::size_t most = 0;
  for (Id node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].is_alive)
      most = std::max(
          most, known_to(node).size() + nodes_[node].passive.size() + nodes_[node].gone.size());
  return most * kEntryBytes;
}

}  // namespace starling::sim
