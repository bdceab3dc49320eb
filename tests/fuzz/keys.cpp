// Keys and what they have signed: certificates, lists of revocations, tickets, requests, and the
// files and lines that hold them.
#include "base/text.h"
#include "daemon/setup/armor.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/ticket.h"
#include "daemon/setup/token_file.h"
#include "daemon/setup/trust_files.h"
#include "gossip/trust/authority.h"
#include "gossip/trust/authorized_keys.h"
#include "tests/daemon/temporary_folder.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/samples.h"

namespace starling::fuzz {
namespace {

using namespace gossip;
using namespace daemon;
using test::test_key;

Revocations sample_list() {
  const std::vector<Revocations::Name> names = {{"node-3", 7}, {"node-9", 1'795'500'000}};
  const std::vector<Revocations::Key> keys = {{test_key(3).public_key(), 9}};
  auto list = revoke({}, names, keys, test_key(1));
  ENSURE(list.has_value(), "a sample is valid");
  return *std::move(list);
}

void run_certificate(Bytes input) {
  const auto certificate = decode_certificate(input);
  if (!certificate) return expect_reason(certificate.error());
  ENSURE(encode(*certificate) == text_of(input), "a certificate has one encoding");
  is_signed(*certificate);
  Authority authority(test_key(1).public_key(), {});
  authority.learn(sample_list());
  const CurveKey proven = curve_key(certificate->key).value_or(CurveKey{});
  if (const auto refusal = authority.judge(*certificate, proven, 1'795'471'680))
    ENSURE(!refusal->words.empty(), "a certificate is refused in words");
  else
    ENSURE(certificate->cluster == test_key(1).public_key() && is_signed(*certificate),
           "who is accepted is signed by the cluster key");
}

std::vector<std::string> certificate_seeds() {
  Certificate own = sample_certificate("node-3");
  const auto self = sign_certificate(own, test_key(2));
  return {encode(sample_certificate("node-7")), encode(own), encode(*self)};
}

void run_revocations(Bytes input) {
  const auto list = decode_revocations(input);
  if (!list) return expect_reason(list.error());
  ENSURE(encode(*list) == text_of(input), "a list has one encoding");
  is_signed(*list);
  revoked_at(*list, sample_certificate("node-3"));
  const Revocations other = sample_list();
  ENSURE(!(supersedes(*list, other) && supersedes(other, *list)), "one of two lists is kept");
}

std::vector<std::string> revocation_seeds() {
  return {encode(sample_list()), encode(Revocations{})};
}

// ---------------------------------------------------------------- lines of text

constexpr std::string_view kLabels[] = {kClusterKeyLabel,  kNodeKeyLabel, kCertificateLabel,
                                        kRevocationsLabel, kTicketLabel,  kRequestLabel};

std::string line_of(std::string_view label, std::string_view bytes) {
  return std::string(armor(label, bytes_of(bytes)).text());
}

void expect_ticket(std::string_view line) {
  const auto ticket = decode_ticket(line);
  if (!ticket) return expect_reason(ticket.error());
  const auto once = encode(*ticket);
  ENSURE(once && decode_ticket(once->text()), "a ticket reads as it was written");
}

void read_line(std::string_view line) {
  expect_ticket(line);
  if (const auto request = decode_request(line))
    ENSURE(request->is_self_signed(), "a request is signed by its own key");
  if (const auto certificate = read_certificate(line))
    ENSURE(is_signed(*certificate), "a certificate is signed");
  if (const auto list = read_revocations(line)) ENSURE(is_signed(*list), "a list is signed");
  for (const std::string_view label : kLabels)
    if (const auto bytes = unarmor(label, line))
      ENSURE(unarmor(label, line_of(label, text_of(bytes->bytes()))).has_value(),
             "a line reads as it was written");
}

// The bytes of a line, whose checksum is put behind them, or the line itself.
void run_line(Bytes input) {
  Input in(input);
  const std::size_t which = in.below(std::size(kLabels) + 1);
  if (which == std::size(kLabels)) return read_line(text_of(in.rest()));
  read_line(line_of(kLabels[which], text_of(in.rest())));
}

std::vector<std::string> line_seeds() {
  std::vector<std::string> lines;
  Ticket ticket{.cluster_id = "digits",
                .seeds = {"10.0.0.1:7600", "[::1]:7600", "dns:nodes.example:7600"},
                .certificate = sample_certificate("node-7")};
  lines.emplace_back(encode(ticket)->text());
  ticket.seed = test_key(2).seed();
  lines.emplace_back(encode(ticket)->text());
  lines.push_back(*encode_request("node-7", test_key(2)));
  lines.push_back(line_of(kCertificateLabel, encode(sample_certificate("node-7"))));
  lines.push_back(line_of(kRevocationsLabel, encode(sample_list())));
  lines.push_back(line_of(kNodeKeyLabel, text_of(test_key(2).seed().bytes())));
  std::vector<std::string> seeds;
  for (const std::string& line : lines) {
    seeds.push_back(static_cast<char>(std::size(kLabels)) + line);
    for (std::size_t k = 0; k < std::size(kLabels); ++k)
      if (const auto bytes = unarmor(kLabels[k], line))
        seeds.push_back(static_cast<char>(k) + std::string(text_of(bytes->bytes())));
  }
  return seeds;
}

void run_authorized(Bytes input) {
  const auto keys = AuthorizedKeys::parse(text_of(input));
  if (!keys) return expect_reason(keys.error());
  ENSURE(keys->size() <= input.size() / 44, "a key takes a line");
}

std::vector<std::string> authorized_seeds() {
  return {"# nodes\nnode-1 " + to_string(test_key(1).public_key()) + "\n\n node-2\t" +
              to_string(test_key(2).public_key()) + "\r\n",
          "node-1 " + to_string(test_key(1).public_key())};
}

// Files of keys and tokens.
void run_key_file(Bytes input) {
  static const test::TemporaryFolder folder;
  const std::string path = folder.write("file", text_of(input));
  const auto cluster = load_key_file(path, KeyKind::cluster);
  const auto node = load_key_file(path, KeyKind::node);
  ENSURE(!cluster || !node, "a key is of one kind");
  if (!cluster) expect_reason(cluster.error());
  if (const auto token = read_http_token(path))
    ENSURE(*token && trim(**token) == **token, "a token has no blanks around it");
}

std::vector<std::string> key_file_seeds() {
  return {line_of(kClusterKeyLabel, text_of(test_key(1).seed().bytes())) + "\n",
          line_of(kNodeKeyLabel, text_of(test_key(2).seed().bytes())) + "\n", "a-token\n"};
}

}  // namespace

std::vector<Target> key_targets() {
  return {{"certificate", run_certificate, certificate_seeds, 640, 300},
          {"revocations", run_revocations, revocation_seeds, 1024, 300},
          {"key-lines", run_line, line_seeds, 1024, 300},
          {"authorized-keys", run_authorized, authorized_seeds, 512, 500},
          {"key-files", run_key_file, key_file_seeds, 256, 200}};
}

}  // namespace starling::fuzz
