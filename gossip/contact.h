// Contact: how a node can be reached.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/endpoint.h"
#include "gossip/trust/certificate.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// With port 0 nobody can dial the node: messages go over a connection that it opened.
struct Contact {
  std::string name;                   // of the node
  Endpoint control = {};              // where it listens
  std::optional<PublicKey> key = {};  // that the node proves at its ends of connections

  friend bool operator==(const Contact&, const Contact&) = default;
};

// Whether both are reached alike.
inline bool have_same_contact(const Member& a, const Member& b) {
  return a.name == b.name && a.control == b.control && a.is_unreachable == b.is_unreachable &&
         a.certificate == b.certificate;
}

// "the node at 10.0.0.2:7600", "the node that nobody can dial".
inline std::string located(std::string what, const Endpoint& at) {
  return what.append(at.port == 0 ? " that nobody can dial" : " at " + to_string(at));
}

inline Contact contact_of(const Member& member) {
  Contact contact{member.name, member.control};
  if (is_hidden(member)) contact.control.port = 0;
  if (member.certificate.empty()) return contact;
  const auto certificate = decode_certificate(std::as_bytes(std::span(member.certificate)));
  if (certificate) contact.key = certificate->key;
  return contact;
}

}  // namespace starling::gossip
