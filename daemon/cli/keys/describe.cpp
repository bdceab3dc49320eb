#include "daemon/cli/keys/describe.h"

#include <nlohmann/json.hpp>

#include "base/utc.h"
#include "base/utf8.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/setup/armor.h"
#include "daemon/setup/trust_files.h"

namespace starling::daemon {
namespace {

using gossip::Certificate;
using gossip::Revocations;
using ordered = nlohmann::ordered_json;

std::string row(std::string_view title, std::string_view value) {
  return fmt::format("{:<14}{}\n", title, printable(value));
}

Description described(std::string_view label, const std::string& text, const ordered& json) {
  ordered document = {{"kind", kind_of_label(label)}};
  document.update(json);
  return {fmt::format("{:<14}{}\n{}", "kind", kind_of_label(label), text), document.dump()};
}

Result<Description> describe_key(std::string_view label, std::string_view line) {
  TRY(const Secret seed, unarmor(label, line));
  if (seed.size() != kKeyBytes)
    return fail("a key of {} bytes; expected {}", seed.size(), kKeyBytes);
  const std::string key = to_string(KeyPair(seed).public_key());
  Description description = described(label, row("public key", key), {{"public_key", key}});
  description.holds_secret = true;
  return description;
}

Result<Description> describe_ticket(std::string_view line) {
  TRY(const Ticket ticket, decode_ticket(line));
  Description description = described(kTicketLabel, text_of(ticket), json_of(ticket));
  description.holds_secret = ticket.seed.size() > 0;
  return description;
}

Result<Description> describe_request(std::string_view line) {
  TRY(const Certificate request, decode_request(line));
  const std::string key = to_string(request.key);
  return described(kRequestLabel, row("node", request.name) + row("public key", key),
                   {{"name", request.name}, {"public_key", key}});
}

}  // namespace

std::string text_of(const Certificate& certificate) {
  return row("node", certificate.name) + row("public key", to_string(certificate.key)) +
         (certificate.is_self_signed() ? "" : row("cluster key", to_string(certificate.cluster))) +
         row("valid from", utc_text(certificate.not_before)) +
         row("valid until", utc_text(certificate.not_after)) +
         (certificate.group.empty() ? "" : row("group", certificate.group));
}

std::string text_of(const Ticket& ticket) {
  return row("cluster.id", ticket.cluster_id) +
         row("join", fmt::format("{}", fmt::join(ticket.seeds, ", "))) +
         text_of(ticket.certificate) +
         row("secret key", ticket.seed.size() > 0 ? "in the ticket: keep the ticket secret"
                                                  : "at the node that asked for the ticket");
}

std::string text_of(const Revocations& list) {
  std::string text =
      row("number", fmt::format("{}", list.number)) + row("cluster key", to_string(list.cluster));
  for (const auto& name : list.names)
    text += row("name", fmt::format("{}, certificates until {}", name.name, utc_text(name.time)));
  for (const auto& key : list.keys)
    text += row("key", fmt::format("{}, at {}", to_string(key.key), utc_text(key.time)));
  return text;
}

ordered json_of(const Certificate& certificate) {
  ordered document = {{"name", certificate.name}, {"public_key", to_string(certificate.key)}};
  if (!certificate.is_self_signed()) document["cluster_key"] = to_string(certificate.cluster);
  document["not_before"] = certificate.not_before;
  document["not_after"] = certificate.not_after;
  document["valid_until"] = utc_text(certificate.not_after);
  if (!certificate.group.empty()) document["group"] = certificate.group;
  return document;
}

ordered json_of(const Ticket& ticket) {
  return {{"cluster_id", ticket.cluster_id},
          {"join", ticket.seeds},
          {"holds_secret", ticket.seed.size() > 0},
          {"certificate", json_of(ticket.certificate)}};
}

ordered json_of(const Revocations& list) {
  ordered document = {{"number", list.number}, {"cluster_key", to_string(list.cluster)}};
  document["names"] = ordered::array();
  for (const auto& name : list.names)
    document["names"].push_back({{"name", name.name}, {"time", name.time}});
  document["keys"] = ordered::array();
  for (const auto& key : list.keys)
    document["keys"].push_back({{"public_key", to_string(key.key)}, {"time", key.time}});
  return document;
}

Result<Description> describe(std::string_view line) {
  const std::string_view label = label_of(line);
  const auto say = [label](const auto& what) {
    return described(label, text_of(what), json_of(what));
  };
  if (label == kClusterKeyLabel || label == kNodeKeyLabel) return describe_key(label, line);
  if (label == kCertificateLabel) return read_certificate(line).transform(say);
  if (label == kRevocationsLabel) return read_revocations(line).transform(say);
  if (label == kTicketLabel) return describe_ticket(line);
  if (label == kRequestLabel) return describe_request(line);
  return fail(
      "no key, certificate, ticket, request or list of revocations: a line of each begins "
      "with starling");
}

}  // namespace starling::daemon
