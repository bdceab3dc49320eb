// whole_file: files that are replaced whole or not at all, whatever happens meanwhile.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace starling::daemon {

// The bytes are on the disk, under that name, when it returns. What is no ordinary file, such as
// /dev/stdout, is written to.
Result<void> replace_file(const std::string& path, std::string_view bytes);

}  // namespace starling::daemon
