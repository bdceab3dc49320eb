#include "daemon/process/lines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/process/greeting.h"

namespace starling::daemon {
namespace {

bool can_dial(const Lines::Address& to, const Guard& guard) {
  return to.at.port != 0 && (to.key || !guard.key());
}

}  // namespace

Lines::Key Lines::key_of(const Target& target, Plane plane) {
  if (const auto* node = std::get_if<NodeId>(&target)) return {plane, *node};
  const Endpoint& at = std::get<Address>(target).at;
  return {plane, std::pair(at.host, at.port)};
}

Lines::Line& Lines::line_of(const Key& key) {
  const auto [found, is_new] = lines_.try_emplace(key, key.plane);
  if (is_new && is_reached(key)) found->second.to = reached_.at(std::get<NodeId>(key.whom));
  return found->second;
}

bool Lines::is_reached(const Key& key) const {
  const auto* node = std::get_if<NodeId>(&key.whom);
  return node && reached_.contains(*node);
}

void Lines::reach(NodeId node, const std::optional<Address>& at) {
  if (!at) return forget(node);
  reached_[node] = *at;
  for (const Plane plane : kPlanes)
    if (const auto found = lines_.find({plane, node}); found != lines_.end())
      move(found->second, *at);
}

void Lines::move(Line& line, const Address& to) {
  const bool is_moved = std::exchange(line.to, to).at != to.at && to.at.port != 0;
  if (!is_moved || !line.via || !line.via->is_dialled()) return;
  const Conversation* conversation = conversations_.find(*line.via);
  if (!conversation || conversation->at == to.at) return;
  const Route before = *line.via;
  conversations_.close(before, closed());
}

std::optional<Lines::Address> Lines::dialled(NodeId node) {
  const auto route = conversations_.with(node, Plane::control);
  if (!route || !route->is_dialled()) return std::nullopt;
  const Conversation& connection = *conversations_.find(*route);
  return Address{connection.at, connection.key};
}

void Lines::open(NodeId node, Plane plane) {
  const Key key{plane, node};
  if (!is_reached(key)) return;
  Line& line = line_of(key);
  if (!line.via) line.via = conversations_.with(node, plane);
  if (!line.via) dial(key, line, Clock::now());
}

void Lines::forget(NodeId node) {
  reached_.erase(node);
  for (const Plane plane : kPlanes) {
    hang_up(Key{plane, node});
    const auto found = lines_.find({plane, node});
    if (found == lines_.end()) continue;
    if (found->second.via)
      found->second.to = {};
    else
      lines_.erase(found);
  }
}

void Lines::send(const Target& to, Plane plane, gossip::Frames frames) {
  const Key key = key_of(to, plane);
  const auto* address = std::get_if<Address>(&to);
  const bool is_known = address ? address->at.port != 0 : is_reached(key) || lines_.contains(key);
  if (!is_known) return void(++dropped_);
  Line& line = line_of(key);
  if (address) line.to = *address;
  dropped_ += line.queue.push(std::move(frames));
  busy_.insert(key);
  attend(key, Clock::now());
}

std::size_t Lines::look(Clock::time_point now) {
  const std::size_t full = conversations_.look(now, closed());
  for (const NodeId peer : conversations_.take_cut()) renew_bulk(peer, now);
  for (auto& [key, line] : lines_)
    if (line.via && line.next) change(line, *line.next, now);
  return full;
}

void Lines::renew_bulk(NodeId peer, Clock::time_point now) {
  const auto found = lines_.find({Plane::bulk, peer});
  if (found == lines_.end() || !is_reached(found->first)) return;
  const std::optional<Route> via = found->second.via;
  if (via && !conversations_.is_idle(*via)) return;
  if (via) conversations_.close(*via, closed());
  if (!found->second.via) dial(found->first, found->second, now);
}

bool Lines::answer(NodeId to, gossip::Frames frames) {
  const auto route = conversations_.with(to, Plane::control);
  if (!route) return false;
  bool sent_header = false;
  dropped_ += wire_.send(*route, frames.next(), sent_header) != Wire::Sent::whole;
  return true;
}

void Lines::hang_up(const Target& from, Plane plane) {
  const Key key = key_of(from, plane);
  const auto* address = std::get_if<Address>(&from);
  if (!address) return hang_up(key);
  busy_.erase(key);
  lines_.erase(key);
  const auto route = conversations_.dialled_to(address->at, plane);
  const bool is_used = std::ranges::any_of(
      lines_, [&](const auto& item) { return route && item.second.via == *route; });
  if (route && !is_used) conversations_.close_soon(*route, Clock::now());
}

void Lines::hang_up(const Key& node) {
  const auto found = lines_.find(node);
  if (found == lines_.end()) return;
  Line& line = found->second;
  dropped_ += line.queue.clear();
  busy_.erase(node);
  line.next.reset();
  if (line.via && line.via->is_dialled())
    conversations_.close_soon(*std::exchange(line.via, std::nullopt), Clock::now());
}

// ---------------------------------------------------------------- connections

void Lines::follow(Clock::time_point now) {
  conversations_.follow(now, closed());
  for (const Key& key : std::vector<Key>(busy_.begin(), busy_.end())) attend(key, now);
}

const Conversation* Lines::hear(const Wire::Arrived& arrived, Clock::time_point now) {
  Conversation* connection = conversations_.find(arrived.route);
  if (connection && connection->peer) {
    conversations_.heard(*connection, arrived);
    return connection;
  }
  meet(arrived, now);
  return nullptr;
}

// Takes the first frame of a connection. A dialled one may have been closed meanwhile.
void Lines::meet(const Wire::Arrived& arrived, Clock::time_point now) {
  const Route& route = arrived.route;
  Conversation* connection = conversations_.find(route);
  const bool is_refused = connection && connection->closes_at;
  if (is_refused || (!connection && route.is_dialled())) return;
  const auto greeting = read_greeting(arrived.header);
  if (!greeting) {
    if (const auto reason = read_refusal(arrived.header))
      guard_.note_refused_there(*reason, conversations_.who(arrived));
    else
      guard_.note("no-greeting", conversations_.who(arrived));
    if (!connection) return conversations_.refuse(arrived.descriptor);
    return conversations_.close(route, closed());
  }
  if (connection)
    conversations_.heard(*connection, arrived);
  else
    connection = &conversations_.meet(arrived, greeting->plane, now);
  if (!admit(*greeting, arrived, *connection)) return conversations_.close_soon(route, now);
  connection->peer = greeting->node;
  greeted(route, *connection, now);
}

// Sends the reason of a refusal, so that the other end can report it.
bool Lines::admit(const Greeting& greeting, const Wire::Arrived& arrived,
                  Conversation& connection) {
  auto admitted = guard_.admit(greeting, connection.key, conversations_.who(arrived));
  if (admitted)
    connection.certificate = *std::move(admitted);
  else
    say(arrived.route, refusal_of(admitted.error().text));
  return admitted.has_value();
}

void Lines::say(const Route& route, const std::string& header) {
  bool sent_header = false;
  wire_.send(route, {header, {}}, sent_header);
}

void Lines::greeted(const Route& route, Conversation& connection, Clock::time_point now) {
  const NodeId peer = *connection.peer;
  if (!route.is_dialled()) say(route, guard_.greeting(connection.plane));
  for (auto& [key, line] : lines_)
    if (route.is_dialled() && line.to.at == connection.at) line.pause = kRedialLeast;
  if (peer == self_) return;  // another node of this node's name
  conversations_.close_superseded(connection, closed());
  Line& line = line_of({connection.plane, peer});
  if (!line.via)
    line.via = route;
  else if (is_better(route, *line.via, peer))
    change(line, route, now);
  else if (route.is_dialled())
    conversations_.close_soon(route, now);
}

// Dialled by the same end, the newer replaces one that is silent: it was lost, as when a NAT drops
// it, or another process has the peer's name. Else the one that the lower id has dialled is better.
bool Lines::is_better(const Route& route, const Route& than, NodeId peer) const {
  if (route.is_dialled() == than.is_dialled()) return conversations_.is_silent(than);
  const auto dialler = [&](const Route& of) { return of.is_dialled() ? self_ : peer; };
  return dialler(route) < dialler(than);
}

// A message that has begun stays on its connection, unless that is lost, and so do those after it
// until all are acknowledged: over the other connection one could overtake a large vector, which
// would then count as lost. The end that dialled closes the old connection.
void Lines::change(Line& line, const Route& to, Clock::time_point now) {
  line.next = to;
  const Conversation* conversation = conversations_.find(*line.via);
  if (conversations_.is_silent(*line.via))
    dropped_ += line.queue.give_up_begun();
  else if (line.queue.is_within() || (conversation && is_sending(*conversation)))
    return;
  const Route before = *std::exchange(line.via, std::exchange(line.next, std::nullopt));
  if (before.is_dialled()) conversations_.close_soon(before, now);
}

Conversations::Closed Lines::closed() {
  return [this](const Route& route, const Conversation& connection) {
    for (auto& [key, line] : lines_) {
      if (line.next == route) line.next.reset();
      if (line.via == route) {
        dropped_ += line.queue.give_up_begun();
        line.via = std::exchange(line.next, std::nullopt);
      }
      // No node answered there; control messages are repeated anyway.
      const bool is_vain = !connection.peer && key.plane == Plane::control &&
                           route.socket == Wire::dialler(key.plane) && line.to.at == connection.at;
      if (is_vain) dropped_ += line.queue.clear();
    }
    std::erase_if(lines_, [this](const auto& item) {
      const auto& [key, line] = item;
      const bool is_gone = !is_reached(key) && !line.via && line.queue.empty();
      if (is_gone) busy_.erase(key);
      return is_gone;
    });
  };
}

// ---------------------------------------------------------------- sending

void Lines::attend(const Key& key, Clock::time_point now) {
  const auto found = lines_.find(key);
  if (found == lines_.end()) return void(busy_.erase(key));
  Line& line = found->second;
  if (!line.via) line.via = route_of(key, line);
  if (line.via)
    drain(line, now);
  else
    dial(key, line, now);
  if (!line.queue.empty()) return;
  busy_.erase(key);
  if (std::holds_alternative<NodeId>(key.whom)) return;
  lines_.erase(found);
}

// An open connection for the line.
std::optional<Lines::Route> Lines::route_of(const Key& key, const Line& line) {
  if (const auto* node = std::get_if<NodeId>(&key.whom))
    return conversations_.with(*node, key.plane);
  const auto dialled = conversations_.dialled_to(line.to.at, key.plane);
  const Conversation* conversation = dialled ? conversations_.find(*dialled) : nullptr;
  return conversation && conversation->peer ? dialled : std::nullopt;
}

void Lines::dial(const Key& key, Line& line, Clock::time_point now) {
  if (!can_dial(line.to, guard_) || now < line.next_dial ||
      conversations_.dialled_to(line.to.at, key.plane) ||
      !conversations_.is_read(line.to.at, key.plane))
    return;
  line.next_dial = now + line.pause;
  line.pause = std::min(line.pause * 2, kRedialMost);
  const auto route = conversations_.dial(line.to.at, key.plane, line.to.key, now);
  if (route) say(*route, guard_.greeting(key.plane));
}

void Lines::drain(Line& line, Clock::time_point now) {
  while (line.via && !line.queue.empty()) {
    if (line.next) change(line, *line.next, now);
    const Route route = *line.via;
    bool is_gone = false;
    const bool is_whole = line.queue.send_front([&](const gossip::Frame& frame, bool& sent_header) {
      const Wire::Sent sent = wire_.send(route, frame, sent_header);
      is_gone = sent == Wire::Sent::gone;
      return sent == Wire::Sent::whole;
    });
    if (Conversation* connection = conversations_.find(route)) conversations_.used(*connection);
    if (is_gone) {
      line.via.reset();
      dropped_ += line.queue.give_up_begun();
      conversations_.lost(route);
      return;
    }
    if (!is_whole) return;
  }
}

Lines::Clock::time_point Lines::deadline(Clock::time_point now) const {
  auto next = Clock::time_point::max();
  for (const Key& key : busy_) {
    const Line& line = lines_.at(key);
    if (line.via)
      next = std::min(next, now + kRetry);
    else if (can_dial(line.to, guard_) && !conversations_.dialled_to(line.to.at, key.plane))
      next = std::min(next, std::max(line.next_dial, now + std::chrono::milliseconds(1)));
  }
  return next;
}

std::size_t Lines::in_use() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines_, [](const auto& item) { return item.second.via.has_value(); }));
}

}  // namespace starling::daemon
