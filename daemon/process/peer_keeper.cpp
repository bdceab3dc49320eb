#include "daemon/process/peer_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/process/log.h"
#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

// Longer: a node that is killed loses the peers of its last moments.
constexpr std::chrono::milliseconds kWakeEvery{200};

}  // namespace

std::vector<Endpoint> peers_to_keep(std::span<const gossip::MemberStatus> members,
                                    std::span<const Endpoint> kept) {
  std::vector<Endpoint> peers, left;
  for (const gossip::MemberStatus& member : members) {
    if (member.self || is_hidden(member.member)) continue;
    if (member.liveness == gossip::Liveness::alive) peers.push_back(member.member->control);
    if (member.liveness == gossip::Liveness::left) left.push_back(member.member->control);
  }
  for (const Endpoint& peer : kept)
    if (std::ranges::find(peers, peer) == peers.end() &&
        std::ranges::find(left, peer) == left.end())
      peers.push_back(peer);
  if (peers.size() > kPeersKeptLimit) peers.resize(kPeersKeptLimit);
  return peers;
}

PeerKeeper::PeerKeeper(DiskState state, Board& board)
    : state_(std::move(state)),
      board_(board),
      thread_(quiet_thread([this](const std::stop_token& stop) { run(stop); })) {}

void PeerKeeper::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, stop, kWakeEvery, [] { return false; });
    }
    keep();
  }
}

void PeerKeeper::keep() {
  const auto snapshot = board_.read();
  if (!snapshot) return;
  auto saved = state_.save_incarnation(snapshot->identity.incarnation);
  if (saved) saved = state_.save_peers(peers_to_keep(snapshot->status.members, state_.peers()));
  if (!saved && !failed_) log::warning("{}", saved.error().text);
  failed_ = !saved.has_value();
}

}  // namespace starling::daemon
