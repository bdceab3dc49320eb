// Key files: the secret keys of a cluster and of a node, one line of text in a file of mode 0600.
#pragma once

#include <string>
#include <string_view>

#include "base/keys.h"
#include "base/result.h"

namespace starling::daemon {

enum class KeyKind { cluster, node };

// Random bytes from the system, as many as a key has; waits for them in the first second of a
// machine.
Secret random_key();

// A key pair of random bytes from the system; waits for them in the first second of a machine.
KeyPair new_key();

// An error if there is a file of that name: no key is ever written over.
Result<void> save_key_file(const std::string& path, KeyKind kind, const KeyPair& key);
// Refuses a file that others can read, and a key of the other kind.
Result<KeyPair> load_key_file(const std::string& path, KeyKind kind);

}  // namespace starling::daemon
