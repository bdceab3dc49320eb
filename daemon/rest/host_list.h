// HostList: the names by which a browser may reach this node. To a browser, a page of another site
// that points its own name at our address (DNS rebinding) has our origin; only the Host field
// reveals it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"

namespace starling::daemon {

class HostList {
 public:
  // Beyond `extra`: localhost, the bind host, loopback addresses, and, bound to anything but
  // loopback, every IP address: nobody can point an address elsewhere.
  HostList(const Endpoint& bind, std::vector<std::string> extra);

  // `field` is "name", "name:port", "[::1]:port"; the port is ignored.
  bool allows(std::string_view field) const;

 private:
  std::vector<std::string> names_;  // in small letters
  bool any_address_ = false;
};

}  // namespace starling::daemon
