// encoding: a file's text as UTF-8 with lines that end in LF, whatever program wrote it.
#pragma once

#include <string>

#include "base/result.h"

namespace starling::models {

// `encoding` is a name of iconv(3), or "auto": UTF-16 if the text begins with its byte order mark,
// else as it is. Lines that end in CR alone get LF. `path` is for the error, which names the first
// byte that is not of the encoding.
Result<std::string> to_utf8(std::string text, const std::string& encoding, const std::string& path);

}  // namespace starling::models
