// Credentials: what a node proves its name with, and whom it accepts.
#pragma once

#include "base/keys.h"
#include "gossip/trust/authority.h"
#include "gossip/trust/certificate.h"

namespace starling::gossip {

// The node and its transport share one object, on one thread.
struct Credentials {
  KeyPair key;
  Certificate certificate;  // of `key`
  Authority authority;
};

}  // namespace starling::gossip
