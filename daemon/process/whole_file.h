// whole_file: reads and writes files completely or not at all, even in a crash.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/payload.h"
#include "base/result.h"

namespace starling::daemon {

// Writes all bytes. False: errno says why not.
bool write_all(int file, const Payload& bytes);

// Creates a file for its owner only; the bytes are on the disk when it returns. An existing file is
// an error.
Result<void> write_file(const std::string& path, const Payload& bytes);

// Writes a file; the bytes are on the disk, under that name, when it returns. A special file, such
// as /dev/stdout, is written in place.
Result<void> replace_file(const std::string& path, std::string_view bytes);

// Makes a new name in a folder durable; does nothing where the system cannot.
Result<void> sync_folder(const std::string& path);

// Reads an ordinary file of at most `limit` bytes; nothing if there is none of that name. Never
// blocks, not even at a named pipe.
Result<std::optional<Payload>> read_file(const std::string& path, std::size_t limit);

// All bytes as a text, and the reverse.
std::string as_text(const Payload& bytes);
Payload as_payload(std::string text);

}  // namespace starling::daemon
