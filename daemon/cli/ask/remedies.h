// Remedies: what to do about what a node says of itself.
#pragma once

#include <optional>
#include <string>

namespace starling::daemon {

// About a warning of a node that keeps it from training with others; nothing: it is none.
std::optional<std::string> remedy_of(const std::string& warning);
// About the rest of the reasons, and of the warnings that are advice.
std::string hint_of(const std::string& text);

}  // namespace starling::daemon
