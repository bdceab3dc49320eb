#include "daemon/setup/expiry.h"

#include <fmt/format.h>

#include "base/utc.h"

namespace starling::daemon {

std::optional<std::string> expiry_warning(const gossip::Certificate& certificate,
                                          std::uint64_t now) {
  if (now > certificate.not_after)
    return fmt::format(
        "the certificate of this node ended at {}, and this machine's clock says {}: others refuse "
        "new connections; renew it with starling invite, or set the clock if it is wrong",
        utc_text(certificate.not_after), utc_text(now));
  if (now < certificate.not_before)
    return fmt::format(
        "the certificate of this node begins at {}, and this machine's clock says {}: one of two "
        "clocks is wrong, this one or that of the machine that made it; compare date -u on both",
        utc_text(certificate.not_before), utc_text(now));
  if (certificate.not_after - now >= kExpiryWarning) return std::nullopt;
  return fmt::format("the certificate of this node ends at {}: renew it with starling invite",
                     utc_text(certificate.not_after));
}

}  // namespace starling::daemon
