#include "daemon/setup/credentials.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/utc.h"
#include "daemon/setup/exposure.h"
#include "daemon/setup/given_ticket.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/setting_sources.h"
#include "daemon/setup/trust_files.h"
#include "tests/daemon/temporary_folder.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::daemon;
using namespace starling::test;

namespace {

const KeyPair& cluster_pair() {
  static const KeyPair kPair = test_key(1);
  return kPair;
}

gossip::Certificate issued(const std::string& name, const KeyPair& node, std::uint64_t from) {
  auto draft = certificate_draft(name, node);
  draft.not_before = from;
  draft.not_after = kToday + 100 * kDay;
  return *sign_certificate(draft, cluster_pair());
}

Ticket ticket_for(const KeyPair& node, std::uint64_t from, bool with_secret = true,
                  const std::string& name = "node-3") {
  Ticket ticket{
      .cluster_id = "digits", .seeds = {"10.0.0.1:7600"}, .certificate = issued(name, node, from)};
  if (with_secret) ticket.seed = node.seed();
  return ticket;
}

// The sources of node-3, with a folder of its own.
struct Place {
  CredentialSources sources() const {
    return {.name = "node-3", .folder = folder.path(), .now = kToday};
  }
  CredentialSources with(const Ticket& ticket) const {
    CredentialSources all = sources();
    all.ticket = &ticket;
    return all;
  }
  CredentialSources signing(std::uint64_t from = kToday) const {
    CredentialSources all = sources();
    all.sign = [from](const PublicKey& key) -> Result<gossip::Certificate> {
      return gossip::sign_certificate(
          {.name = "node-3", .key = key, .not_before = from, .not_after = from + 365 * kDay},
          cluster_pair());
    };
    return all;
  }
  PublicKey kept_key(const std::string& name = "key") const {
    const auto key = load_key_file(folder / name, KeyKind::node);
    REQUIRE(key.has_value());
    return key->public_key();
  }
  void keep_key(const KeyPair& key) const {
    REQUIRE(save_key_file(folder / "key", KeyKind::node, key).has_value());
  }
  bool has(const std::string& name) const { return std::filesystem::exists(folder / name); }

  TemporaryFolder folder;
};

std::shared_ptr<gossip::Credentials> found(const CredentialSources& sources) {
  const auto credentials = find_credentials(sources);
  CAPTURE((credentials ? "" : credentials.error().text));
  REQUIRE(credentials.has_value());
  REQUIRE(*credentials);
  return *credentials;
}

std::string problem(const CredentialSources& sources) {
  const auto credentials = find_credentials(sources);
  return credentials ? "none" : credentials.error().text;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string written(const TemporaryFolder& folder, const std::string& name, std::string_view text,
                    mode_t mode = 0600) {
  const std::string path = folder / name;
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

}  // namespace

TEST_CASE("A node without any key has no credentials") {
  const Place place;
  const auto credentials = find_credentials(place.sources());
  REQUIRE(credentials.has_value());
  CHECK_FALSE(*credentials);
  CHECK(std::filesystem::is_empty(place.folder.path()));
}

TEST_CASE("A ticket gives a node its key and its certificate which stay in its folder") {
  const Place place;
  const KeyPair node = test_key(2);
  const Ticket ticket = ticket_for(node, kToday);
  const auto first = found(place.with(ticket));
  CHECK(first->key.public_key() == node.public_key());
  CHECK(first->certificate == ticket.certificate);
  CHECK(place.kept_key() == node.public_key());
  struct stat info {};
  REQUIRE(::stat((place.folder / "key").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  // Without the ticket, and with it again.
  CHECK(found(place.sources())->certificate == ticket.certificate);
  CHECK(found(place.with(ticket))->certificate == ticket.certificate);
  CHECK_FALSE(place.has("key.old"));
  CredentialSources nowhere = place.with(ticket);
  nowhere.folder.clear();
  CHECK(found(nowhere)->key.public_key() == node.public_key());
}

TEST_CASE("Of a ticket and the certificate in the folder the later counts") {
  const Place place;
  const KeyPair node = test_key(2), other = test_key(3);
  const Ticket early = ticket_for(node, kToday - 2), late = ticket_for(node, kToday - 1);
  found(place.with(late));
  CHECK(found(place.with(early))->certificate == late.certificate);
  CHECK(found(place.sources())->certificate == late.certificate);
  // A later ticket brings another key; that before is not lost.
  const Ticket newer = ticket_for(other, kToday);
  CHECK(found(place.with(newer))->key.public_key() == other.public_key());
  CHECK(place.kept_key() == other.public_key());
  CHECK(place.kept_key("key.old") == node.public_key());
  CHECK(holds(problem(place.with(late)), "has another key with a certificate from"));
  CHECK(place.kept_key() == other.public_key());
  // And once more.
  found(place.with(ticket_for(test_key(4), kToday + 1)));
  CHECK(place.kept_key("key.old") == node.public_key());
  CHECK(place.kept_key("key.old-2") == other.public_key());
}

TEST_CASE("A ticket that lost its race with a crash is taken at the next start") {
  const Place place;
  const KeyPair node = test_key(2), other = test_key(3);
  found(place.with(ticket_for(node, kToday - 1)));
  // The new key is there, and its certificate is not.
  const Ticket ticket = ticket_for(other, kToday);
  std::filesystem::rename(place.folder / "key", place.folder / "key.old");
  place.keep_key(other);
  CHECK(found(place.with(ticket))->certificate == ticket.certificate);
  CHECK(found(place.sources())->certificate == ticket.certificate);
}

TEST_CASE("A ticket for another node or cluster leaves the folder as it is") {
  const Place place;
  const KeyPair node = test_key(2);
  found(place.with(ticket_for(node, kToday)));
  const Ticket of_other = ticket_for(test_key(3), kToday + 1, true, "node-4");
  CHECK(holds(problem(place.with(of_other)), "is that of node-3"));
  Ticket elsewhere = ticket_for(test_key(3), kToday + 1);
  elsewhere.certificate = certificate_of("node-3", test_key(3), test_key(9));
  CHECK(holds(problem(place.with(elsewhere)), "expected another folder for another cluster"));
  CHECK(place.kept_key() == node.public_key());
  CHECK_FALSE(place.has("key.old"));
}

TEST_CASE("A ticket without a secret needs the key that asked for it") {
  const Place place;
  const KeyPair node = test_key(2);
  const Ticket ticket = ticket_for(node, kToday, false);
  CHECK(holds(problem(place.with(ticket)), "holds no secret key"));
  place.keep_key(test_key(3));
  CHECK(holds(problem(place.with(ticket)), "the ticket is for the key"));
  CHECK(holds(problem(place.sources()), "has a key and no certificate"));
  CHECK(holds(problem(place.with(ticket_for(node, kToday))), "without a certificate"));
  std::filesystem::remove(place.folder / "key");
  place.keep_key(node);
  CHECK(found(place.with(ticket))->certificate == ticket.certificate);
  CHECK(found(place.sources())->certificate == ticket.certificate);
}

TEST_CASE("With the cluster key a node signs for itself and renews what ends soon") {
  const Place place;
  const auto first = found(place.signing());
  CHECK(first->certificate.cluster == cluster_pair().public_key());
  CHECK(place.kept_key() == first->key.public_key());
  CHECK(found(place.signing(kToday + 5))->certificate == first->certificate);
  CredentialSources later = place.signing(kToday + 340 * kDay);
  later.now = kToday + 340 * kDay;
  const auto renewed = found(later);
  CHECK(renewed->key.public_key() == first->key.public_key());
  CHECK(renewed->certificate.not_before == kToday + 340 * kDay);
  CredentialSources nowhere = place.signing();
  nowhere.folder.clear();
  CHECK(found(nowhere)->key.public_key() != first->key.public_key());
  CredentialSources failing = place.sources();
  failing.sign = [](const PublicKey&) { return fail("no key"); };
  CHECK(problem(failing) == "no key");
}

TEST_CASE("What the others would refuse is an error at the start") {
  const Place place;
  const KeyPair node = test_key(2);
  const Ticket ticket = ticket_for(node, kToday);
  CredentialSources sources = place.with(ticket);
  sources.now = kToday + 101 * kDay;
  CHECK(holds(problem(sources), "was valid until " + utc_text(kToday + 100 * kDay)));
  CHECK(holds(problem(sources), "this machine's clock says " + utc_text(sources.now)));
  sources.now = kToday - 40 * kDay;
  CHECK(holds(problem(sources), "is valid from"));
  CHECK_FALSE(place.has("key"));
  sources = place.with(ticket);
  sources.name = "node-4";
  CHECK(holds(problem(sources), "the certificate is for node-3"));
  found(place.with(ticket));
  std::filesystem::remove(place.folder / "key");
  CHECK(holds(problem(place.sources()), "has a certificate and no key"));
  place.keep_key(test_key(5));
  CHECK(holds(problem(place.sources()), "proved another key"));
}

TEST_CASE("A list of revocations in the folder counts for all and for the node itself") {
  const Place place;
  const Ticket ticket = ticket_for(test_key(2), kToday);
  const auto list = [](const std::string& name, const KeyPair& by) {
    const gossip::Revocations::Name names[] = {{name, kToday}};
    return *revoke({}, names, {}, by);
  };
  REQUIRE(save_revocations(place.folder / "revocations", list("node-7", cluster_pair())));
  CHECK(found(place.with(ticket))->authority.revocations().number == 1);
  REQUIRE(save_revocations(place.folder / "revocations", list("node-3", cluster_pair())));
  CHECK(holds(problem(place.sources()), "was revoked at"));
  REQUIRE(save_revocations(place.folder / "revocations", list("node-7", test_key(9))));
  CHECK(holds(problem(place.sources()), "is not of this cluster's key"));
}

TEST_CASE("With authorized keys a node needs no certificate and keeps its key") {
  const Place place;
  CredentialSources sources = place.sources();
  sources.authorized_keys = place.folder / "authorized";
  CHECK(holds(problem(sources), "no such file"));
  const KeyPair peer = test_key(6);
  written(place.folder, "authorized", "node-7 " + to_string(peer.public_key()) + "\n", 0644);
  const auto own = found(sources);
  CHECK(own->certificate.is_self_signed());
  CHECK(found(sources)->key.public_key() == own->key.public_key());
  CHECK_FALSE(place.has("certificate"));
  const auto of_peer = certificate_of("node-7", peer, peer);
  const auto judged = own->authority.judge(of_peer, *curve_key(peer.public_key()), kToday);
  CHECK_FALSE(judged.has_value());
  sources.folder.clear();
  CHECK(holds(problem(sources), "needs node.data-dir"));
  written(place.folder, "authorized", "node-7\n");
  sources.folder = place.folder.path();
  CHECK(holds(problem(sources), "security.authorized-keys = "));
}

TEST_CASE("A key that others can read is refused") {
  const Place place;
  found(place.with(ticket_for(test_key(2), kToday)));
  ::chmod((place.folder / "key").c_str(), 0640);
  CHECK(holds(problem(place.sources()), "chmod 600"));
}

TEST_CASE("A ticket settles the id and the name and adds its seeds") {
  const Ticket ticket = ticket_for(test_key(2), kToday);
  Settings settings(schema());
  settings.set("cluster.join", "10.0.0.9:7600", "command line");
  REQUIRE(apply(ticket, settings).has_value());
  CHECK(settings.text("cluster.id") == "digits");
  CHECK(settings.text("node.name") == "node-3");
  CHECK(settings.text("cluster.join") == "10.0.0.9:7600,10.0.0.1:7600");
  REQUIRE(apply(ticket, settings).has_value());
  CHECK(settings.text("cluster.join") == "10.0.0.9:7600,10.0.0.1:7600");
  CHECK(settings.text("listen.control") == "0.0.0.0:7600");
  for (const char* key : {"cluster.id", "node.name"}) {
    Settings other(schema());
    other.set(key, "another", "command line");
    const auto applied = apply(ticket, other);
    REQUIRE_FALSE(applied.has_value());
    CHECK(holds(applied.error().text, std::string(key) + " = \"another\": the ticket says"));
  }
  Settings chosen(schema());
  chosen.set("listen.control", "10.0.0.3:7600", "command line");
  REQUIRE(apply(ticket, chosen).has_value());
  CHECK(chosen.text("listen.control") == "10.0.0.3:7600");
}

TEST_CASE("A ticket comes by --join or from a file that only its owner reads") {
  const TemporaryFolder folder;
  const std::string text(encode(ticket_for(test_key(2), kToday))->text());
  CommandLine line;
  CHECK_FALSE(*given_ticket(line));
  line.options["join"] = {"10.0.0.1:7600", text};
  const auto joined = given_ticket(line);
  REQUIRE((joined && *joined));
  CHECK((*joined)->certificate.name == "node-3");
  CHECK(line.options["join"] == std::vector<std::string>{"10.0.0.1:7600"});
  line.options = {{"ticket-file", {written(folder, "ticket", text + "\n")}}};
  CHECK((*given_ticket(line))->certificate.name == "node-3");
  line.options["join"] = {text};
  CHECK(holds(given_ticket(line).error().text, "more than one ticket"));
  line.options = {{"ticket-file", {written(folder, "open", text, 0644)}}};
  CHECK(holds(given_ticket(line).error().text, "chmod 600"));
  line.options = {{"ticket-file", {written(folder, "cut", text.substr(0, 100))}}};
  CHECK(holds(given_ticket(line).error().text, "cut off or changed"));
  line.options = {{"join", {text.substr(0, 100)}}};
  CHECK(given_ticket(line).error().text ==
        "--join: this is a ticket, and it is cut off or changed; copy the whole line");
}

TEST_CASE("A ticket among the settings is a mistake that does not quote it") {
  const std::string text(encode(ticket_for(test_key(2), kToday))->text());
  for (const Key& key : schema().keys()) {
    CAPTURE(key.name);
    Settings settings(schema());
    settings.set(key.name, "x," + text, "my.ini");
    std::vector<std::string> mistakes;
    hide_tickets(settings, mistakes);
    REQUIRE(mistakes.size() == 1);
    CHECK(mistakes[0].starts_with("my.ini: " + key.name + ": holds a ticket"));
    CHECK(settings.text(key.name) == kTicketMark);
  }
}

TEST_CASE("Without keys a node listens on loopback only unless security.insecure says so") {
  const Endpoint near{"127.0.0.1", 7600}, far{"10.0.0.1", 7600}, all{"0.0.0.0", 7600};
  Config config;
  for (const Endpoint& at : {near, Endpoint{"::1", 7600}})
    CHECK(check_exposure(config, at).has_value());
  for (const Endpoint& at : {far, all}) {
    const auto result = check_exposure(config, at);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().text.starts_with("listen.control = "));
    CHECK(holds(result.error().text, "security.insecure = true"));
  }
  config.is_insecure = true;
  CHECK(check_exposure(config, far).has_value());
  CHECK(doubts(config, schema()).size() == 1);
  const Place place;
  config.node.credentials = found(place.signing());
  CHECK_FALSE(check_exposure(config, near).has_value());
  config.is_insecure = false;
  CHECK(check_exposure(config, far).has_value());
}

TEST_CASE("A configuration that lacks keys is told") {
  Config config;
  CHECK_FALSE(lack_of_keys(config).has_value());
  config.listen_control.host = "10.0.0.1";
  CHECK(lack_of_keys(config).has_value());
  config.authorized_keys = "keys";
  CHECK_FALSE(lack_of_keys(config).has_value());
  config.authorized_keys.clear();
  config.is_insecure = true;
  CHECK_FALSE(lack_of_keys(config).has_value());
  config.is_insecure = false;
  const Place place;
  config.data_dir = place.folder.path();
  CHECK(lack_of_keys(config).has_value());
  found(place.signing());
  CHECK_FALSE(lack_of_keys(config).has_value());
}
