// parse_json: reads JSON from outside. Copying a document and writing its text take stack for each
// level of nesting, so one that is nested deeper than any document of this program is refused.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace starling::daemon {

inline constexpr std::size_t kJsonNestingLimit = 64;

// Discarded (json::is_discarded()) if the text is not JSON, or nested deeper.
nlohmann::json parse_json(std::string_view text);

}  // namespace starling::daemon
