// Advertised: the address by which others reach a node that listens on all addresses of its
// machine.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/seed_name.h"
#include "daemon/process/dns.h"
#include "daemon/process/own_addresses.h"

namespace starling::daemon {

struct Reachable {
  std::string host;
  std::string reason;  // why this one
};

// The address from which this machine would send to the seed; nothing if that is not known.
using SourceOf = std::function<std::optional<std::string>(const SeedName&)>;

// The address of the only interface besides loopback; of several interfaces, the one that leads to
// the first seed that is not on loopback. The error lists what listen.advertise may name. REQUIRES
// that `listen` is a wildcard.
Result<Reachable> reachable_host(const Endpoint& listen, std::span<const OwnAddress> own,
                                 std::span<const SeedName> seeds, const SourceOf& source_of);

// A warning if this machine takes the advertised name for itself, as Debian's /etc/hosts does by
// 127.0.1.1; else empty. `look_up` is resolve_all(), which may wait for name servers.
std::string loopback_doubt(
    const Endpoint& advertised,
    const std::function<Result<std::vector<Endpoint>>(const Endpoint&)>& look_up);

// The source address towards the seed, which is looked up first. Waits for name servers.
std::optional<std::string> source_towards(const SeedName& seed, const DnsOptions& options);

}  // namespace starling::daemon
