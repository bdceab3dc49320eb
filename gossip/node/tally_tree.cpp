#include "gossip/node/tally_tree.h"

#include <algorithm>
#include <utility>

#include "base/prng.h"

namespace starling::gossip {

bool is_sending(const Gate& gate, NodeId peer, Time now, const Timing& timing) {
  const auto last = gate.last_chunk(peer);
  return last && now - *last < kAskPause * timing.retry;
}

TallyTree::TallyTree(const Options& options, const Around& around)
    : options_(options), around_(around), pause_(options.timing.retry) {}

std::uint64_t TallyTree::rank(NodeId id) const {
  return mix64(around_.members.own().agreement ^ id.value);
}

bool TallyTree::is_later(const Tally& message) const {
  if (message.epoch != sum_.epoch) return message.epoch > sum_.epoch;
  return message.root != sum_.root && rank(message.root) > rank(sum_.root);
}

void TallyTree::join(Time now, const Sum& sum, std::optional<NodeId> parent, Calls calls,
                     Outbox& out) {
  sum_ = sum;
  parent_ = parent;
  peers_.clear();
  pause_.clear();
  stage_ = Stage::gathers;
  moved_ = now;
  departures_ = around_.members.departures();
  for (const auto& [peer, link] : around_.links.all()) {
    const Member* member = around_.members.find(peer);
    if (calls == Calls::nobody || !link.refusal.empty() || !member || peer == parent) continue;
    if (calls == Calls::all || has_ended(*member)) ask(now, peer, peers_[peer], out);
  }
  gather(now);
}

void TallyTree::leave() {
  stage_ = Stage::none;
  parent_.reset();
  peers_.clear();
}

void TallyTree::outdo(std::uint64_t epoch) {
  sum_ = {.epoch = epoch, .root = around_.members.self()};
  leave();
}

Tally TallyTree::message(Tally::Kind kind, std::uint64_t models) const {
  return {kind, sum_.epoch, sum_.root, models, sum_.round};
}

void TallyTree::ask(Time now, NodeId peer, Peer& state, Outbox& out) {
  if (state.asks++ == 0) state.heard = now;
  state.next_ask = now + kAskPause * options_.timing.retry;
  const bool has_sent = stage_ == Stage::reports && peer == parent_;
  out.send(peer, message(Tally::Kind::call, has_sent ? mean_.models : 0));
}

void TallyTree::receive(Time now, NodeId from, const Tally& message, Payload payload, Outbox& out) {
  if (message.kind == Tally::Kind::call) return hear_call(now, from, message.models, out);
  const auto found = peers_.find(from);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  peer.heard = moved_ = now;
  if (message.kind == Tally::Kind::elsewhere && from == parent_) return leave();
  if (message.kind == Tally::Kind::busy || from == parent_) return;
  if (message.kind == Tally::Kind::part && peer.part.models == 0 && !payload.empty())
    peer.part = {std::move(payload), std::max<std::uint64_t>(1, message.models)};
  peer.has_answered = true;
  gather(now);
}

// The first call of a neighbour crosses this node's own; a second one says that this was lost.
// `models`: of the part that it has sent.
void TallyTree::hear_call(Time now, NodeId from, std::uint64_t models, Outbox& out) {
  // This node has left that tree. A child that is told "busy" again and again waits without end.
  if (stage_ == Stage::none) return out.send(from, message(Tally::Kind::elsewhere));
  Peer& peer = peers_[from];
  const bool is_again = std::exchange(peer.has_called, true);
  peer.heard = moved_ = now;
  if (from == parent_) {
    if (stage_ == Stage::reports) return send_part(now, out);
    if (is_again) out.send(from, message(Tally::Kind::busy));
    return;
  }
  const bool is_lost = models > 0 && peer.part.models == 0 && stage_ == Stage::gathers;
  if (is_lost) return ask(now, from, peer, out);
  if (is_again || models > 0)
    out.send(from, message(models > 0 ? Tally::Kind::busy : Tally::Kind::elsewhere));
  peer.has_answered = true;
  gather(now);
}

void TallyTree::gather(Time now) {
  if (stage_ != Stage::gathers) return;
  const bool waits = std::ranges::any_of(peers_, [&](const auto& item) {
    return item.first != parent_ && !item.second.has_answered && around_.members.find(item.first);
  });
  if (waits) return;
  stage_ = Stage::adds;
  moved_ = now;
}

std::vector<optim::ModelMean> TallyTree::parts() const {
  std::vector<optim::ModelMean> parts;
  for (const auto& [peer, state] : peers_)
    if (state.part.models > 0) parts.push_back(state.part);
  return parts;
}

std::vector<NodeId> TallyTree::children() const {
  std::vector<NodeId> children;
  for (const auto& [peer, state] : peers_)
    if (state.part.models > 0) children.push_back(peer);
  return children;
}

void TallyTree::report(Time now, optim::ModelMean mean, Outbox& out) {
  mean_ = std::move(mean);
  stage_ = Stage::reports;
  if (parent_) send_part(now, out);
}

void TallyTree::send_part(Time now, Outbox& out) {
  if (!pause_.may_send(now, *parent_, mean_.vector.size())) return;
  out.send(*parent_, message(Tally::Kind::part, mean_.models), mean_.vector);
}

bool TallyTree::awaits(NodeId peer) const {
  return (stage_ == Stage::reports && peer == parent_) ||
         (stage_ == Stage::gathers && peers_.contains(peer));
}

void TallyTree::tick(Time now, Outbox& out) {
  for (auto& [peer, state] : peers_) {
    const bool waits = peer == parent_ ? stage_ == Stage::reports
                                       : stage_ == Stage::gathers && !state.has_answered;
    if (!waits) continue;
    if (state.next_ask == Time{}) {  // it has just got this node's part
      state.next_ask = now + kAskPause * options_.timing.retry;
    } else if (is_sending(around_.gate, peer, now, options_.timing)) {
      state.heard = moved_ = now;
      state.next_ask = now + kAskPause * options_.timing.retry;
    } else if (state.asks > 0 && now >= state.heard + kSettlePatience) {
      state.has_answered = true;
    } else if (now >= state.next_ask) {
      ask(now, peer, state, out);
    }
  }
  gather(now);
}

bool TallyTree::is_stuck(Time now) const {
  if (sum_.root == around_.members.self())
    return departures_ != around_.members.departures() || now >= moved_ + kSettlePatience;
  return !around_.members.find(sum_.root) || now >= moved_ + 2 * kSettlePatience;
}

}  // namespace starling::gossip
