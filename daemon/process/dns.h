// Dns: asks name servers for names that stand for many nodes. An ordinary host name goes through
// the system's own look-up, which also reads /etc/hosts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/seed_name.h"

namespace starling::daemon {

struct DnsOptions {
  // An IPv4 address; nothing: the servers of /etc/resolv.conf.
  std::optional<Endpoint> server = {};
  // For each of two tries at a server. Longer: a missing server delays the answer more.
  std::chrono::seconds patience{2};
};

// The most addresses of one name, and hosts of one service; further ones are left out.
inline constexpr std::size_t kDnsAddressesLimit = 64, kDnsServicesLimit = 64;
inline constexpr std::size_t kDnsAnswerBytesLimit = 65535;  // what TCP can carry

// An SRV record: a host that offers the service. Ask smaller priorities first.
struct DnsService {
  std::uint16_t priority = 0;
  Endpoint at;  // the host is a name
};

// The answer section of one message.
struct DnsAnswer {
  std::vector<std::string> addresses;
  std::vector<DnsService> services;
};
// Accepts any bytes. Leaves out records of other types, and addresses that no host can have.
Result<DnsAnswer> read_dns_answer(std::span<const unsigned char> message);

// The addresses of the name: IPv4 and IPv6, sorted as texts; of a service by priority. Waits for
// name servers. REQUIRES a name in the DNS.
Result<std::vector<Endpoint>> look_up(const SeedName& name, const DnsOptions& options);

}  // namespace starling::daemon
