// Ticket: all that a new node needs to join, as one line of text, starling1:…. Request: what a node
// that made its key itself asks a ticket with, starling-request1:…; its ticket holds no secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"
#include "base/secret.h"
#include "gossip/trust/certificate.h"

namespace starling::daemon {

inline constexpr std::size_t kTicketSeedsLimit = 32;
inline constexpr std::size_t kTicketTextLimit = 300;  // bytes of a seed, and of a cluster's id
inline constexpr std::size_t kTicketBytesLimit = 16 << 10;  // of its line

struct Ticket {
  std::string cluster_id;                // as cluster.id
  std::vector<std::string> seeds;        // as in cluster.join, at least one
  gossip::Certificate certificate = {};  // signed by the cluster key, which it names
  Secret seed = {};                      // of the node's key pair; empty: the node has it already
};

// The line. The error names the field that is beyond its limit.
Result<Secret> encode(const Ticket& ticket);
// Reads a line from outside, however damaged. The certificate is signed by the cluster key that it
// names, and belongs to the key of the ticket if there is one.
Result<Ticket> decode_ticket(std::string_view line);

// A request is a certificate that the node's own key has signed. It is no secret.
Result<std::string> encode_request(const std::string& name, const KeyPair& key);
Result<gossip::Certificate> decode_request(std::string_view line);

}  // namespace starling::daemon
