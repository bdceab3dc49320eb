#include "daemon/setup/ticket.h"

#include <doctest/doctest.h>

#include "daemon/setup/armor.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::daemon;
using namespace starling::test;

namespace {

Ticket ticket_of(const KeyPair& node, bool with_secret) {
  Ticket ticket;
  ticket.cluster_id = "digits";
  ticket.seeds = {"10.0.0.1:7600", "[::1]:7600", "dns:nodes.example:7600"};
  ticket.certificate = certificate_of("node-3", node, test_key(1));
  if (with_secret) ticket.seed = node.seed();
  return ticket;
}

std::string line_of(const Ticket& ticket) {
  const auto line = encode(ticket);
  REQUIRE(line.has_value());
  return std::string(line->text());
}

std::string encoding_error(const Ticket& ticket) {
  const auto line = encode(ticket);
  return line ? "" : line.error().text;
}

std::string decoding_error(const std::string& line) {
  const auto ticket = decode_ticket(line);
  return ticket ? "" : ticket.error().text;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("A ticket survives its line with and without the secret key") {
  const KeyPair node = test_key(2);
  for (const bool with_secret : {true, false}) {
    const Ticket ticket = ticket_of(node, with_secret);
    const std::string line = line_of(ticket);
    CHECK(line.starts_with("starling1:"));
    const auto decoded = decode_ticket(line);
    REQUIRE(decoded.has_value());
    CHECK(decoded->cluster_id == ticket.cluster_id);
    CHECK(decoded->seeds == ticket.seeds);
    CHECK(decoded->certificate == ticket.certificate);
    REQUIRE(decoded->seed.size() == (with_secret ? kKeyBytes : 0));
    if (with_secret) CHECK(KeyPair(decoded->seed).public_key() == node.public_key());
  }
}

TEST_CASE("A ticket that was wrapped by a mail program is whole") {
  std::string line = line_of(ticket_of(test_key(2), true));
  for (std::size_t at = 70; at < line.size(); at += 73) line.insert(at, "\r\n ");
  CHECK(decode_ticket(" \n" + line + "\r\n").has_value());
}

TEST_CASE("A ticket that was cut off or changed anywhere is named as such") {
  const std::string line = line_of(ticket_of(test_key(2), true));
  const std::size_t label = std::string_view("starling1:").size();
  damage(line, [&](const std::string& damaged, std::size_t at) {
    CAPTURE(at);
    if (damaged.size() == line.size() && std::isspace(static_cast<unsigned char>(damaged[at])))
      return;
    const std::string error = decoding_error(damaged);
    if (at < label)
      CHECK(error == "expected a ticket, a line that begins with starling1:");
    else
      CHECK(error == "this is a ticket, and it is cut off or changed; copy the whole line");
  });
  CHECK(holds(decoding_error(line + "A"), "cut off or changed"));
  CHECK(decoding_error(std::string(kTicketBytesLimit + 1, 'A'))
            .starts_with("a ticket of 16385 characters; expected at most 16384"));
}

TEST_CASE("What a ticket holds is checked even if its checksum is right") {
  const KeyPair node = test_key(2);
  const auto line = decode_ticket(line_of(ticket_of(node, true)));
  REQUIRE(line.has_value());
  const auto bytes = unarmor(kTicketLabel, line_of(ticket_of(node, true)));
  REQUIRE(bytes.has_value());
  for (std::size_t at = 0; at < bytes->size(); ++at) {
    CAPTURE(at);
    Secret changed = copy_secret(bytes->bytes());
    changed.bytes()[at] ^= std::byte{0x41};
    const auto decoded = decode_ticket(armor(kTicketLabel, changed.bytes()).text());
    // The id of the cluster and the addresses have no signature; the rest does.
    if (decoded)
      CHECK((decoded->certificate == line->certificate &&
             KeyPair(decoded->seed).public_key() == node.public_key()));
    CHECK_FALSE(decode_ticket(armor(kTicketLabel, bytes->bytes().first(at)).text()).has_value());
  }
}

TEST_CASE("A ticket is made of what is right and within limits") {
  const KeyPair node = test_key(2);
  Ticket ticket = ticket_of(node, true);
  ticket.seed = test_key(3).seed();
  CHECK(holds(encoding_error(ticket), "belongs to another key"));
  ticket = ticket_of(node, true);
  ticket.certificate = certificate_of("node-3", node, node);
  CHECK(holds(encoding_error(ticket), "not signed by a cluster key"));
  ticket = ticket_of(node, true);
  ticket.certificate.name = "node-4";
  CHECK(holds(encoding_error(ticket), "not signed by a cluster key"));
  ticket = ticket_of(node, true);
  ticket.seeds.clear();
  CHECK(holds(encoding_error(ticket), "the addresses of 1 to 32 nodes, got 0"));
  ticket.seeds.assign(kTicketSeedsLimit + 1, "10.0.0.1:7600");
  CHECK(holds(encoding_error(ticket), "got 33"));
  ticket.seeds = {"10.0.0.1"};
  CHECK(holds(encoding_error(ticket), "has no port"));
  ticket = ticket_of(node, true);
  ticket.cluster_id = "a\nb";
  CHECK(holds(encoding_error(ticket), "cluster.id has at most"));
}

TEST_CASE("A ticket with all limits used fits its own limit") {
  Ticket ticket = ticket_of(test_key(2), true);
  ticket.cluster_id = std::string(kTicketTextLimit, 'c');
  ticket.seeds.assign(kTicketSeedsLimit, std::string(240, 'h') + ":7600");
  CHECK(decode_ticket(line_of(ticket)).has_value());
}

TEST_CASE("A request survives its line and holds no secret") {
  const KeyPair node = test_key(2);
  const auto line = encode_request("node-3", node);
  REQUIRE(line.has_value());
  CHECK(line->starts_with("starling-request1:"));
  const auto request = decode_request(*line);
  REQUIRE(request.has_value());
  CHECK(request->name == "node-3");
  CHECK(request->key == node.public_key());
  CHECK_FALSE(encode_request("", node).has_value());
  damage(*line, [&](const std::string& damaged, std::size_t at) {
    CAPTURE(at);
    if (damaged.size() == line->size() && std::isspace(static_cast<unsigned char>(damaged[at])))
      return;
    CHECK_FALSE(decode_request(damaged).has_value());
  });
  const std::string other = encode(certificate_of("node-3", node, test_key(1)));
  const Secret forged = armor(kRequestLabel, as_bytes(other));
  CHECK_FALSE(decode_request(forged.text()).has_value());
}

TEST_CASE("A line of another kind is named") {
  const std::string ticket = line_of(ticket_of(test_key(2), true));
  const auto request = encode_request("node-3", test_key(2));
  CHECK(decoding_error(*request) == "this is a request for a ticket; expected a ticket");
  const auto wrong = decode_request(ticket);
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().text == "this is a ticket; expected a request for a ticket");
  CHECK(decoding_error("hello") == "expected a ticket, a line that begins with starling1:");
  CHECK(label_of("starling1") == "");
}
