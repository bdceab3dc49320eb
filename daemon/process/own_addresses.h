// The addresses of this machine, by interface, and which of them leads to another machine.
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

// Of interfaces that are up, loopback among them, first those of IPv4; without link-local ones,
// which say nothing without their interface.
std::vector<OwnAddress> own_addresses();
// The addresses only, for an error about another one.
std::vector<std::string> own_address_texts();

// The address from which this machine would send there; nothing if there is no way, or if the host
// is a name. Sends nothing.
std::optional<std::string> source_address(const Endpoint& to);

// The text of an address of IPv4 or IPv6; empty for another.
std::string numeric_text(const void* address, int family);

}  // namespace starling::daemon
