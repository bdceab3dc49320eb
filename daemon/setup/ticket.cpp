#include "daemon/setup/ticket.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/seed_name.h"
#include "base/utc.h"
#include "base/utf8.h"
#include "daemon/setup/armor.h"
#include "gossip/wire/archives.h"

namespace starling::daemon {
namespace {

using gossip::Certificate;
using gossip::Like;

struct SeedText {
  std::string text;
};
// A ticket without its secret. Before it stands one byte, 1 if the secret follows that byte.
struct OpenPart {
  std::string cluster_id;
  std::vector<SeedText> seeds;
  std::string certificate;
};

template <class A>
void fields(A& a, Like<SeedText> auto& x) {
  a.text(x.text, kTicketTextLimit);
}

template <class A>
void fields(A& a, Like<OpenPart> auto& x) {
  a.text(x.cluster_id, kTicketTextLimit);
  a.list(x.seeds, kTicketSeedsLimit);
  a.bytes(x.certificate, Certificate::kBytesLimit);
}

Result<void> check(const Ticket& ticket) {
  if (ticket.cluster_id.size() > kTicketTextLimit || !is_plain(ticket.cluster_id) ||
      !is_utf8(ticket.cluster_id))
    return fail("cluster.id has at most {} bytes of UTF-8 without control characters",
                kTicketTextLimit);
  if (ticket.seeds.empty() || ticket.seeds.size() > kTicketSeedsLimit)
    return fail("a ticket has the addresses of 1 to {} nodes, got {}", kTicketSeedsLimit,
                ticket.seeds.size());
  for (const std::string& seed : ticket.seeds) {
    if (seed.size() > kTicketTextLimit)
      return fail("an address of {} bytes; expected at most {}", seed.size(), kTicketTextLimit);
    TRY_DO(parse_seed_name(seed));
  }
  const Certificate& certificate = ticket.certificate;
  if (certificate.is_self_signed() || !is_signed(certificate))
    return fail("the certificate for {} is not signed by a cluster key", certificate.name);
  if (ticket.seed.size() > 0 && KeyPair(ticket.seed).public_key() != certificate.key)
    return fail("the certificate for {} belongs to another key", certificate.name);
  return {};
}

std::string open_part(const Ticket& ticket) {
  OpenPart part;
  part.cluster_id = ticket.cluster_id;
  part.certificate = encode(ticket.certificate);
  for (const std::string& seed : ticket.seeds) part.seeds.push_back({seed});
  gossip::Writer out;
  out.record(part);
  return out.take();
}

Result<Ticket> read_open_part(std::span<const std::byte> bytes) {
  OpenPart part;
  gossip::Reader::Source source{bytes};
  gossip::Reader(source).only(part);
  if (!source.sound) return fail("a ticket that is malformed");
  TRY(Certificate certificate,
      gossip::decode_certificate(std::as_bytes(std::span(part.certificate))));
  Ticket ticket;
  ticket.cluster_id = std::move(part.cluster_id);
  ticket.certificate = std::move(certificate);
  for (SeedText& seed : part.seeds) ticket.seeds.push_back(std::move(seed.text));
  return ticket;
}

}  // namespace

Result<Secret> encode(const Ticket& ticket) {
  TRY_DO(check(ticket));
  const std::string part = open_part(ticket);
  Secret bytes(1 + ticket.seed.size() + part.size());
  const auto rest = bytes.bytes().subspan(1);
  bytes.bytes()[0] = static_cast<std::byte>(ticket.seed.size() > 0);
  std::ranges::copy(ticket.seed.bytes(), rest.begin());
  std::ranges::copy(std::as_bytes(std::span(part)), rest.subspan(ticket.seed.size()).begin());
  return armor(kTicketLabel, bytes.bytes());
}

Result<Ticket> decode_ticket(std::string_view line) {
  if (line.size() > kTicketBytesLimit)
    return fail("a ticket of {} characters; expected at most {}", line.size(), kTicketBytesLimit);
  TRY(const Secret all, unarmor(kTicketLabel, line));
  const std::size_t secret_bytes = all.text().starts_with('\1') ? kKeyBytes : 0;
  if (all.size() < 1 + secret_bytes || all.bytes()[0] > std::byte{1})
    return fail("a ticket that is malformed");
  TRY(Ticket ticket, read_open_part(all.bytes().subspan(1 + secret_bytes)));
  ticket.seed = copy_secret(all.bytes().subspan(1, secret_bytes));
  TRY_DO(check(ticket));
  return ticket;
}

Result<std::string> encode_request(const std::string& name, const KeyPair& key) {
  TRY(const Certificate request,
      gossip::sign_certificate({.name = name, .key = key.public_key(), .not_after = kLatestMoment},
                               key));
  const std::string bytes = encode(request);
  return std::string(armor(kRequestLabel, std::as_bytes(std::span(bytes))).text());
}

Result<Certificate> decode_request(std::string_view line) {
  TRY(const Secret bytes, unarmor(kRequestLabel, line));
  TRY(Certificate request, gossip::decode_certificate(bytes.bytes()));
  if (!request.is_self_signed() || !is_signed(request))
    return fail("the request of {} is not signed by its own key", request.name);
  return request;
}

}  // namespace starling::daemon
