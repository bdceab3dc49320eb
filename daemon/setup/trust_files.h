// Files of what the cluster key has signed: certificates and lists of revocations. Everybody may
// read them; each is one line of text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gossip/trust/certificate.h"
#include "gossip/trust/revocations.h"

namespace starling::daemon {

// Writes over what is there. What is loaded is signed by the key that it names; whether that is the
// cluster's, the caller compares.
Result<void> save_certificate(const std::string& path, const gossip::Certificate& certificate);
Result<gossip::Certificate> load_certificate(const std::string& path);

Result<void> save_revocations(const std::string& path, const gossip::Revocations& list);
// Nothing if there is no such file.
Result<std::optional<gossip::Revocations>> load_revocations(const std::string& path);

// The same, of the text of a file.
Result<gossip::Certificate> read_certificate(std::string_view text);
Result<gossip::Revocations> read_revocations(std::string_view text);

}  // namespace starling::daemon
