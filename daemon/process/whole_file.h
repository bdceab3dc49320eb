// whole_file: files that are written and read whole or not at all, whatever happens meanwhile.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/payload.h"
#include "base/result.h"

namespace starling::daemon {

// False: errno says why.
bool write_all(int file, const Payload& bytes);

// Makes a file, for its owner alone, whose bytes are on the disk when it returns. REQUIRES none of
// that name.
Result<void> write_file(const std::string& path, const Payload& bytes);

// The bytes are on the disk, under that name, when it returns. What is no ordinary file, such as
// /dev/stdout, is written to.
Result<void> replace_file(const std::string& path, std::string_view bytes);

// A name in a folder lasts once the folder is synced; where the system cannot, nothing is done.
Result<void> sync_folder(const std::string& path);

// An ordinary file of at most `limit` bytes; nothing where there is none of that name. Never waits
// for anybody, as opening a named pipe does.
Result<std::optional<Payload>> read_file(const std::string& path, std::size_t limit);

// All bytes as a text, and the reverse.
std::string as_text(const Payload& bytes);
Payload as_payload(std::string text);

}  // namespace starling::daemon
