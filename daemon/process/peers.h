// Peers: performs what a node asks for towards other nodes. The node names a node, or the address
// of a stranger; Peers knows the addresses of the nodes and what their host names stand for. Used
// by the thread of the loop only.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/seed_name.h"
#include "daemon/process/connect_prober.h"
#include "daemon/process/guard.h"
#include "daemon/process/host_names.h"
#include "daemon/process/key_questions.h"
#include "daemon/process/trace_log.h"
#include "daemon/process/transport.h"
#include "gossip/io.h"

namespace starling::daemon {

class Peers {
 public:
  // All outlive this. `trace` gets the times at which vectors are handed to the transport.
  Peers(Transport& transport, Guard& guard, HostNames& names, TraceLog& trace)
      : transport_(transport), guard_(guard), names_(names), trace_(trace), questions_(guard) {}

  // The member at the address, which a person has named, has this key.
  void know(const SeedName& seed);

  void act(gossip::Reach& reach);
  void act(gossip::Send& send);
  void act(gossip::Introduce& introduce);
  void act(gossip::Hangup& hangup) { transport_.hang_up(hangup.from, hangup.plane); }
  void act(gossip::Abandon& abandon);
  void act(gossip::ConnectProbe& probe);

  // Whether a ConnectProbe has no result yet, or a node has not told its key yet.
  bool is_waiting() const {
    return prober_.is_waiting() || questions_.is_waiting() || !nowhere_.empty();
  }
  // The results of probes since the last call.
  void take_findings(const std::function<void(gossip::Input)>& take);

 private:
  const gossip::Contact* find(NodeId node) const;
  // Where to dial; nothing as long as the host name has no address or the node no key.
  std::optional<Transport::Address> address_of(const gossip::Contact& contact);
  // The same, or where the node was dialled while its host name has no address.
  std::optional<Transport::Address> way_to(NodeId node, const gossip::Contact& contact);
  std::optional<PublicKey> key_of(const gossip::Contact& contact);

  Transport& transport_;
  Guard& guard_;
  HostNames& names_;
  TraceLog& trace_;
  gossip::Cutter cutter_;
  ConnectProber prober_;
  KeyQuestions questions_;
  std::vector<gossip::KeyAsked> asked_;  // that the node has not been told of
  std::vector<Endpoint> nowhere_;        // nor that these names of members have no address
  std::map<NodeId, gossip::Contact> contacts_;
  std::map<std::string, PublicKey> named_keys_;  // of seeds, by HOST:PORT
};

}  // namespace starling::daemon
