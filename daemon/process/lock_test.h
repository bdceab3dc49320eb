// lock_test: tests that this machine's ZeroMQ rejects connections without a valid key. Its versions
// differ in what they admit by default.
#pragma once

#include "base/result.h"
#include "gossip/trust/credentials.h"

namespace starling::daemon {

// Listens on loopback as a node does, and dials itself: without a key, with a name and a password,
// with another server key, and correctly while the ZapHandler bars the key. All four must fail;
// once the handler admits the key, a connection must open. Takes some milliseconds. The error names
// the case that went wrong.
Result<void> test_locks(const gossip::Credentials& credentials);

}  // namespace starling::daemon
