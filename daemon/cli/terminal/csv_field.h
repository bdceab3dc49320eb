// csv_field: a text as a field of a file of comma-separated values (RFC 4180).
#pragma once

#include <string>

namespace starling::daemon {

// In quotes where it holds a comma, a quote or the end of a line.
std::string csv_field(const std::string& text);

}  // namespace starling::daemon
