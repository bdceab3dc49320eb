// private_file: files that hold a secret. Only their owner may read them, and what is read lies in
// a Secret from the first byte.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace starling::daemon {

// Creates a file of mode 0600, whole or not at all; it is on the disk when this returns. An
// existing file is an error and stays as it is.
Result<void> write_private_file(const std::string& path, std::span<const std::byte> bytes);

// Refuses a file that others than its owner may read, write or execute; the error names the command
// that corrects it.
Result<void> check_private(const std::string& path);

// Reads an ordinary file of at most `limit` bytes, refused as by check_private().
Result<Secret> read_private_file(const std::string& path, std::size_t limit);
// The same, even if others can read the file. "-" is standard input.
Result<Secret> read_as_secret(const std::string& path, std::size_t limit);

}  // namespace starling::daemon
