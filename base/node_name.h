// What may be the name of a node. People read and compare names, and paths hold them: of sockets,
// tickets and logs.
#pragma once

#include <string_view>

namespace starling {

// What kNodeNameLaw says; of its length nothing, so that an empty one is allowed.
bool is_node_name(std::string_view text);
inline constexpr std::string_view kNodeNameLaw =
    "UTF-8 without control and format characters, \"/\" and blanks at its ends, and not \".\" or "
    "\"..\"";

}  // namespace starling
