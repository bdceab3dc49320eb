// Endpoint: HOST:PORT as a user writes it. IPv6 hosts stand in brackets: [::1]:7600.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace starling {

struct Endpoint {
  std::string host;        // without brackets
  std::uint16_t port = 0;  // 0 asks the system for a free one, where that makes sense

  bool operator==(const Endpoint&) const = default;
};

inline constexpr std::size_t kHostBytesLimit = 255;

// An IPv6 address gets its canonical spelling (RFC 5952), so that equal addresses are equal texts.
Result<Endpoint> parse_endpoint(std::string_view text);
// Whether parse_endpoint could have given an endpoint of this host.
bool is_host(std::string_view host);
// A host without a port. An IPv6 address may have brackets, and gets its canonical spelling.
Result<std::string> parse_host(std::string_view text);
std::string to_string(const Endpoint& endpoint);
// Whether the host is an address, not a name to look up.
bool is_numeric(const Endpoint& endpoint);
bool is_loopback(const Endpoint& endpoint);
// Whether the host stands for all addresses of a machine: 0.0.0.0 or ::.
bool is_wildcard(const Endpoint& endpoint);

}  // namespace starling
