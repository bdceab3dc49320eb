// Quantities of data as a user writes them: sizes and rates.
#pragma once

#include <string_view>

#include "base/result.h"

namespace starling {

// Bytes of "40GB", "12.5MB", "940584" or "8mbit"; more than 0 and at most 1e18.
Result<double> parse_bytes(std::string_view text);
// Bytes/s of "10mbit", "1gbit" or "12.5MB"; from 1 to 1e12.
Result<double> parse_bandwidth(std::string_view text);

}  // namespace starling
