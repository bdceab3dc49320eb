// HostList: by which names a browser may reach this node. A page of another site that points its
// own name at our address (DNS rebinding) is of one origin with us in the eyes of the browser; only
// the Host field tells it apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"

namespace starling::daemon {

class HostList {
 public:
  // Beyond `extra`: localhost, the bind host, loopback addresses, and, bound to anything but
  // loopback, every IP address: an address is no name that anybody could point elsewhere.
  HostList(const Endpoint& bind, std::vector<std::string> extra);

  // `field` is "name", "name:port", "[::1]:port"; the port is of no interest.
  bool allows(std::string_view field) const;

 private:
  std::vector<std::string> names_;  // in small letters
  bool any_address_ = false;
};

}  // namespace starling::daemon
