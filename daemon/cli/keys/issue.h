// Issue: what keygen, invite and revoke have in common: the cluster key, the clock, and the
// certificates that the key signs.
#pragma once

#include <string>

#include "base/command_line.h"
#include "base/keys.h"
#include "base/result.h"
#include "gossip/trust/certificate.h"

namespace starling::daemon {

// The options of a command that signs certificates.
inline constexpr CommandOption kSigning[] = {
    {"cluster-key", "FILE", "the secret key of the cluster; default ./cluster.key"},
    {"days", "D", "how long the certificate is valid; default 365"},
    {"group", "G", "the group that the certificate puts the node in; default none"}};

// Of --cluster-key.
std::string cluster_key_path(const CommandLine& line);
Result<KeyPair> cluster_key(const CommandLine& line);
// The list of revocations beside a cluster key: cluster.revocations for cluster.key.
std::string revocations_path(const std::string& cluster_key_path);

// Signs a certificate for a node's key, by --cluster-key, --days and --group. It is later than a
// revocation of the name; a revoked key is an error. `group`: where --group gives none.
Result<gossip::Certificate> issue(const CommandLine& line, const std::string& name,
                                  const PublicKey& key, const std::string& group = {});

}  // namespace starling::daemon
