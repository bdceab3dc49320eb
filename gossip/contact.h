// Contact: how a node can be reached.
#pragma once

#include <string>

#include "base/endpoint.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// Without addresses (both ports 0) the node cannot be dialled.
struct Contact {
  std::string name;  // of the node
  Endpoint control = {}, bulk = {};

  friend bool operator==(const Contact&, const Contact&) = default;
};

inline Contact contact_of(const Member& member) {
  return {member.name, member.control, member.bulk};
}

}  // namespace starling::gossip
