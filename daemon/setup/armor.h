// Armor: bytes as one line of text that says what it is, LABEL:BASE64URL, with a checksum by which
// a line that was cut off or changed on its way is known.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace starling::daemon {

inline constexpr std::size_t kArmorBytesLimit = 2 << 20;  // of a line

inline constexpr std::string_view kClusterKeyLabel = "starling-cluster-key-1:ed25519";
inline constexpr std::string_view kNodeKeyLabel = "starling-node-key-1:ed25519";
inline constexpr std::string_view kCertificateLabel = "starling-certificate-1";
inline constexpr std::string_view kRevocationsLabel = "starling-revocations-1";
inline constexpr std::string_view kTicketLabel = "starling1";
inline constexpr std::string_view kRequestLabel = "starling-request1";

// The line, without its end. It is a Secret, because the bytes may hold one.
Secret armor(std::string_view label, std::span<const std::byte> bytes);

// The bytes of a line. Blanks and line ends in it, which mail programs make, are left out. The
// error names what the line is instead, and never quotes what may be secret.
Result<Secret> unarmor(std::string_view label, std::string_view text);

// The label that the text begins with, if it is one of the above; else empty.
std::string_view label_of(std::string_view text);
// "certificate", for a label of the above.
std::string_view kind_of_label(std::string_view label);

}  // namespace starling::daemon
