// lock_test: whether the ZeroMQ of this machine keeps strangers out. Versions of it differ in what
// they let in by default.
#pragma once

#include "base/result.h"
#include "gossip/trust/credentials.h"

namespace starling::daemon {

// Listens on loopback as a node does, and dials this: without a key, with a name and a password,
// with another key than the node's, and rightly while the ZapHandler bars the key. All must fail;
// when the handler admits the key, the connection must open. Takes some milliseconds. The error
// says which did not.
Result<void> test_locks(const gossip::Credentials& credentials);

}  // namespace starling::daemon
