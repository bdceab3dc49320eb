// Credentials: finds what a node proves its name with, and keeps it in the node's folder:
//   key           the secret key; one that another took the place of is key.old, key.old-2, …
//   certificate   of that key
//   revocations   of the cluster key; read, not written
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/keys.h"
#include "base/result.h"
#include "daemon/setup/ticket.h"
#include "gossip/trust/credentials.h"

namespace starling::daemon {

// Where to look, the first first: the ticket, the folder, the cluster key, the authorized keys.
struct CredentialSources {
  std::string name;                // of the node
  std::string folder;              // its own, which exists; empty: nothing is kept
  const Ticket* ticket = nullptr;  // null: none
  // Signs a certificate for this node with the cluster key. Null: that key is not here.
  std::function<Result<gossip::Certificate>(const PublicKey& key)> sign = nullptr;
  std::string authorized_keys = {};  // path of that file; empty: none
  std::uint64_t now = 0;             // seconds since 1970, by the machine's clock
};

// Null: the sources hold no key. The credentials are such as this node itself accepts; the error
// says what is wrong with them, and what to do. No key is ever lost: what a ticket replaces stays.
Result<std::shared_ptr<gossip::Credentials>> find_credentials(const CredentialSources& sources);

// The certificate in a node's folder; nothing if there is none.
Result<std::optional<gossip::Certificate>> kept_certificate(const std::string& folder);

}  // namespace starling::daemon
