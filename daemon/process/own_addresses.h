// own_addresses: the addresses of this machine, and which one it uses towards another machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"

namespace starling::daemon {

struct OwnAddress {
  std::string interface;
  std::string address;

  bool operator==(const OwnAddress&) const = default;
};

// The addresses of interfaces that are up, loopback among them, IPv4 first; without link-local
// ones, which mean nothing without their interface.
std::vector<OwnAddress> own_addresses();
// The addresses only, for an error about another one.
std::vector<std::string> own_address_texts();

// The address from which this machine would send to `to`; nothing if there is no route, or the host
// is a name. Sends nothing.
std::optional<std::string> source_address(const Endpoint& to);

// The text of an address of IPv4 or IPv6; empty for another.
std::string numeric_text(const void* address, int family);

}  // namespace starling::daemon
