// Peers: performs the outputs of the node that concern other nodes. An output names a node, or the
// address of an unknown one; Peers keeps the addresses of nodes and resolves their host names. Used
// by the thread of the loop only.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/seed_name.h"
#include "daemon/process/connect_prober.h"
#include "daemon/process/host_names.h"
#include "daemon/process/key_questions.h"
#include "daemon/process/trace_log.h"
#include "gossip/io.h"
#include "gossip/transport/guard.h"
#include "gossip/transport/transport.h"

namespace starling::daemon {

class Peers {
 public:
  // All must outlive this. `trace` gets the times at which vectors are passed to the transport.
  Peers(gossip::Transport& transport, gossip::Guard& guard, HostNames& names, TraceLog& trace)
      : transport_(transport), guard_(guard), names_(names), trace_(trace), questions_(guard) {}

  // Sets the key of the member at an address that a person has configured.
  void know(const SeedName& seed);

  void act(gossip::Reach& reach);
  void act(gossip::Send& send);
  void act(gossip::Introduce& introduce);
  void act(gossip::Hangup& hangup) { transport_.hang_up(hangup.from, hangup.plane); }
  void act(gossip::Abandon& abandon);
  void act(gossip::ConnectProbe& probe);

  // Whether a ConnectProbe or a question for a key has no result, or a result is not taken.
  bool is_waiting() const {
    return prober_.is_waiting() || questions_.is_waiting() || !nowhere_.empty();
  }
  // Passes the results since the last call to `take`.
  void take_findings(const std::function<void(gossip::Input)>& take);

 private:
  const gossip::Contact* find(NodeId node) const;
  // Where to dial; nothing while the host name has no address or the node's key is unknown.
  std::optional<gossip::Transport::Address> address_of(const gossip::Contact& contact);
  // The same; if the host name has no address, where the node was dialled.
  std::optional<gossip::Transport::Address> way_to(NodeId node, const gossip::Contact& contact);
  std::optional<PublicKey> key_of(const gossip::Contact& contact);

  gossip::Transport& transport_;
  gossip::Guard& guard_;
  HostNames& names_;
  TraceLog& trace_;
  gossip::Cutter cutter_;
  ConnectProber prober_;
  KeyQuestions questions_;
  std::vector<gossip::KeyAsked> asked_;  // answers not reported to the node yet
  std::vector<Endpoint> nowhere_;        // names without an address, not reported to it yet
  std::map<NodeId, gossip::Contact> contacts_;
  std::map<std::string, PublicKey> named_keys_;  // of seeds, by HOST:PORT
};

}  // namespace starling::daemon
