// Expiry: what a node says about the end of its own certificate, and about a clock that does not
// fit it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gossip/trust/certificate.h"

namespace starling::daemon {

// A certificate with less time left than this is named. Longer: more warnings that nobody needs
// yet. Shorter: less time to renew it.
inline constexpr std::uint64_t kExpiryWarning = 7 * 86'400;  // s

// Nothing: it lasts, and began before `now`, the machine's clock in seconds since 1970.
std::optional<std::string> expiry_warning(const gossip::Certificate& certificate,
                                          std::uint64_t now);

}  // namespace starling::daemon
