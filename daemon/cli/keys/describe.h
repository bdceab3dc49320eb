// Describe: what a certificate, a ticket or a list says, for people and for programs; never a
// secret.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/setup/ticket.h"
#include "gossip/trust/certificate.h"
#include "gossip/trust/revocations.h"

namespace starling::daemon {

// Lines of a title and a value.
std::string text_of(const gossip::Certificate& certificate);
std::string text_of(const Ticket& ticket);
std::string text_of(const gossip::Revocations& list);

nlohmann::ordered_json json_of(const gossip::Certificate& certificate);
nlohmann::ordered_json json_of(const Ticket& ticket);
nlohmann::ordered_json json_of(const gossip::Revocations& list);

// What a line of any kind says (setup/armor.h).
struct Description {
  std::string text;
  std::string json;
  bool holds_secret = false;  // the line, not the description
};
Result<Description> describe(std::string_view line);

}  // namespace starling::daemon
