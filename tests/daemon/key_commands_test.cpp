// starling keygen, invite and revoke.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/base64url.h"
#include "daemon/cli/commands.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/ticket.h"
#include "daemon/setup/trust_files.h"
#include "tests/daemon/temporary_folder.h"

using namespace starling;
using namespace starling::daemon;
using namespace starling::test;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

std::string content_of(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Printed {
  int code = 0;
  std::string out, err;
};

// What a command prints, which goes to files in the meantime.
Printed print(const TemporaryFolder& folder, std::string_view command, const Words& words) {
  const std::array<std::string, 2> paths = {folder / "stdout", folder / "stderr"};
  std::array<int, 2> saved{};
  std::fflush(stdout);
  for (int k = 0; k < 2; ++k) {
    saved[k] = ::dup(k + 1);
    const int file = ::open(paths[k].c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ::dup2(file, k + 1);
    ::close(file);
  }
  Printed printed{.code = carry_out(*find_command(command), words), .out = {}, .err = {}};
  std::fflush(stdout);
  for (int k = 0; k < 2; ++k) {
    ::dup2(saved[k], k + 1);
    ::close(saved[k]);
  }
  printed.out = content_of(paths[0]);
  printed.err = content_of(paths[1]);
  return printed;
}

// A folder with a cluster key.
struct Desk {
  Desk() { REQUIRE(run("keygen", {"cluster", "--out", key}).code == kExitDone); }

  Printed run(std::string_view command, const Words& words) const {
    return print(folder, command, words);
  }
  Printed signing(std::string_view command, Words words) const {
    words.insert(words.end(), {"--cluster-key", key});
    return run(command, words);
  }

  TemporaryFolder folder;
  std::string key = folder / "cluster.key";
};

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The secret halves of a pair in the forms that a slip would print them in.
Words secrets_of(const KeyPair& pair) {
  Words forms;
  const Secret seed = pair.seed(), curve = pair.curve_secret();
  for (const Secret* secret : {&seed, &curve}) {
    std::string hex, capitals;
    for (const std::byte byte : secret->bytes()) {
      hex += fmt::format("{:02x}", std::to_integer<int>(byte));
      capitals += fmt::format("{:02X}", std::to_integer<int>(byte));
    }
    forms.insert(forms.end(), {std::string(secret->text()), hex, capitals});
    // Wherever it begins in the groups of three bytes; the characters at its ends hold other bits.
    for (std::size_t before = 0; before < 3; ++before) {
      std::vector<std::byte> bytes(before);
      std::ranges::copy(secret->bytes(), std::back_inserter(bytes));
      const std::string text = to_base64url(bytes).substr(4, 36);
      std::string plain = text;
      std::ranges::replace(plain, '-', '+');
      std::ranges::replace(plain, '_', '/');
      forms.insert(forms.end(), {text, plain});
    }
  }
  return forms;
}

void expect_no_secret(const Printed& printed, const std::string& path, KeyKind kind) {
  const auto pair = load_key_file(path, kind);
  REQUIRE(pair.has_value());
  for (const std::string& secret : secrets_of(*pair)) {
    CHECK_FALSE(holds(printed.out, secret));
    CHECK_FALSE(holds(printed.err, secret));
  }
}

}  // namespace

TEST_CASE("A cluster key is made once and shown without its secret") {
  const Desk desk;
  const auto key = load_key_file(desk.key, KeyKind::cluster);
  REQUIRE(key.has_value());
  const std::string text = to_string(key->public_key());
  const Printed again = desk.run("keygen", {"cluster", "--out", desk.key});
  CHECK(again.code == kExitFailed);
  CHECK(holds(again.err, "is there already, and is not written over"));
  CHECK(holds(desk.run("keygen", {"show", desk.key}).out, text));
  CHECK(json::parse(desk.run("keygen", {"show", desk.key, "--json"}).out) ==
        json{{"kind", "cluster key"}, {"public_key", text}});
}

TEST_CASE("A node gets a key and a certificate and renews the certificate") {
  const Desk desk;
  const std::string out = desk.folder / "node-1";
  const Words words = {"node",   "--name", "node-1",  "--out", out,
                       "--days", "10",     "--group", "a",     "--json"};
  const Printed made = desk.signing("keygen", words);
  REQUIRE(made.code == kExitDone);
  const auto certificate = load_certificate(out + "/certificate");
  REQUIRE(certificate.has_value());
  CHECK(certificate->name == "node-1");
  CHECK(certificate->group == "a");
  CHECK(certificate->not_after - certificate->not_before == 10 * 86'400);
  CHECK(certificate->key == load_key_file(out + "/key", KeyKind::node)->public_key());
  CHECK(json::parse(made.out)["new_key"] == true);
  CHECK(json::parse(made.out)["certificate"]["group"] == "a");
  const Printed renewed = desk.signing("keygen", words);
  CHECK(json::parse(renewed.out)["new_key"] == false);
  CHECK(load_certificate(out + "/certificate")->key == certificate->key);
  CHECK(holds(desk.run("keygen", {"show", out + "/certificate"}).out, "node          node-1\n"));
}

TEST_CASE("An invitation is a ticket on standard output or in a file of one's own") {
  const Desk desk;
  const Words words = {"node-3", "--join",        "10.0.0.1:7600",
                       "--join", "10.0.0.2:7600", "--cluster.id=digits"};
  const Printed printed = desk.signing("invite", words);
  REQUIRE(printed.code == kExitDone);
  CHECK(std::ranges::count(printed.out, '\n') == 1);
  const auto ticket = decode_ticket(printed.out);
  REQUIRE(ticket.has_value());
  CHECK(ticket->cluster_id == "digits");
  CHECK(ticket->seeds == Words{"10.0.0.1:7600", "10.0.0.2:7600"});
  CHECK(ticket->seed.size() == kKeyBytes);
  CHECK_FALSE(holds(printed.err, "starling1:"));
  CHECK(holds(printed.err, "The ticket is secret"));

  Words to_file = words;
  to_file.insert(to_file.end(), {"--ticket-file", desk.folder / "ticket"});
  const Printed filed = desk.signing("invite", to_file);
  REQUIRE(filed.code == kExitDone);
  CHECK(filed.out.empty());
  struct stat info {};
  REQUIRE(::stat((desk.folder / "ticket").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(holds(desk.run("keygen", {"show", desk.folder / "ticket"}).out, "in the ticket"));
  REQUIRE(::chmod((desk.folder / "ticket").c_str(), 0644) == 0);
  CHECK(holds(desk.run("keygen", {"show", desk.folder / "ticket"}).err, "chmod 600"));
  CHECK(holds(desk.signing("invite", to_file).err, "is there already"));
}

TEST_CASE("A request is answered by a ticket without a secret") {
  const Desk desk;
  const std::string out = desk.folder / "here";
  const Printed asked = desk.run("keygen", {"request", "--name", "node-9", "--out", out});
  REQUIRE(asked.code == kExitDone);
  CHECK(desk.run("keygen", {"request", "--name", "node-9", "--out", out}).out == asked.out);
  const Printed answered =
      desk.signing("invite", {"--request", asked.out, "--join", "10.0.0.1:7600"});
  REQUIRE(answered.code == kExitDone);
  const auto ticket = decode_ticket(answered.out);
  REQUIRE(ticket.has_value());
  CHECK(ticket->seed.size() == 0);
  CHECK(ticket->certificate.key == load_key_file(out + "/key", KeyKind::node)->public_key());
  const Printed other =
      desk.signing("invite", {"node-8", "--request", asked.out, "--join", "10.0.0.1:7600"});
  CHECK(other.code == kExitWrongUsage);
  CHECK(holds(other.err, "the request is of node-9, not of node-8"));
}

TEST_CASE("Revocations add up and a name can be invited again") {
  const Desk desk;
  const std::string out = desk.folder / "node-1";
  const Words make = {"node", "--name", "node-1", "--out", out};
  REQUIRE(desk.signing("keygen", make).code == kExitDone);
  const auto before = load_certificate(out + "/certificate");
  CHECK(json::parse(desk.signing("revoke", {"node-1", "--json"}).out)["number"] == 1);
  REQUIRE(desk.signing("keygen", make).code == kExitDone);
  const auto after = load_certificate(out + "/certificate");
  REQUIRE(desk.signing("revoke", {"node-2", to_string(before->key)}).code == kExitDone);
  const auto list = load_revocations(desk.folder / "cluster.revocations");
  REQUIRE((list.has_value() && list->has_value()));
  CHECK((*list)->number == 2);
  CHECK((*list)->names.size() == 2);
  CHECK((*list)->keys.size() == 1);
  CHECK(revoked_at(**list, *before).has_value());
  gossip::Certificate of_new_key = *after;
  of_new_key.key = {};
  CHECK_FALSE(revoked_at(**list, of_new_key).has_value());
  CHECK(holds(desk.signing("keygen", make).err, "make a new key for it"));
  const Printed shown = desk.run("keygen", {"show", desk.folder / "cluster.revocations"});
  CHECK(holds(shown.out, "node-2, certificates until"));

  const std::string second = desk.folder / "second.key";
  REQUIRE(desk.run("keygen", {"cluster", "--out", second}).code == kExitDone);
  const Printed foreign = desk.run(
      "revoke", {"x", "--cluster-key", second, "--out", desk.folder / "cluster.revocations"});
  CHECK(foreign.code == kExitWrongUsage);
  CHECK(holds(foreign.err, "is signed by the cluster key"));
}

TEST_CASE("Mistakes with keys are named with what is expected") {
  const Desk desk;
  const auto error = [&](std::string_view command, const Words& words) {
    const Printed printed = desk.signing(command, words);
    CHECK(printed.code == kExitWrongUsage);
    CHECK(printed.out.empty());
    return printed.err;
  };
  CHECK(holds(error("keygen", {"moon"}), "expected cluster, node, request or show"));
  CHECK(
      holds(error("keygen", {"request", "--name", "a"}), "--cluster-key: keygen request does not"));
  CHECK(holds(error("keygen", {"node"}), "--name NAME is missing"));
  CHECK(holds(error("keygen", {"node", "--name", "../a"}), "--out DIR"));
  CHECK(holds(error("keygen", {"node", "--name", std::string(129, 'x')}), "1 to 128 bytes"));
  CHECK(holds(error("keygen", {"node", "a", "--name", "a"}), "takes options only"));
  CHECK(holds(error("invite", {}), "expected the NAME of the new node"));
  CHECK(holds(error("invite", {"a"}), "--join HOST:PORT is missing"));
  CHECK(holds(error("invite", {"a", "--join", "b"}), "has no port"));
  for (const char* days : {"0", "-1", "36501", "1e3", ""})
    CHECK(holds(error("invite", {"a", "--join", "b:1", "--days", days}), "from 1 to 36500"));
  CHECK(holds(error("invite", {"--request", "starling1:x", "--join", "b:1"}),
              "--request: this is a ticket; expected a request"));
  CHECK(holds(error("revoke", {}), "expected NAME"));
  CHECK(holds(error("revoke", {"a\nb"}), "control and format characters"));
  const Printed none = desk.run("invite", {"a", "--join", "b:1", "--cluster-key", "/no/key"});
  CHECK(holds(none.err, "there is no /no/key; `starling keygen cluster` makes one"));
  REQUIRE(::chmod(desk.key.c_str(), 0644) == 0);
  CHECK(holds(error("revoke", {"a"}), "chmod 600 " + desk.key));
}

TEST_CASE("No command prints a secret but an invitation without a file") {
  const Desk desk;
  const std::string out = desk.folder / "node-1";
  const Words node = {"node", "--name", "node-1", "--out", out, "--cluster-key", desk.key};
  const Words request = {"request", "--name", "node-1", "--out", out};
  const Words revoke = {"node-5", "--cluster-key", desk.key};
  const std::string ticket = desk.folder / "ticket";
  REQUIRE(desk.run("keygen", node).code == kExitDone);
  REQUIRE(desk.signing("invite", {"node-2", "--join", "b:1", "--ticket-file", ticket}).code ==
          kExitDone);
  std::vector<std::pair<std::string, Words>> lines = {
      {"keygen", node},
      {"keygen", request},
      {"keygen", {"show", desk.key}},
      {"keygen", {"show", out + "/key"}},
      {"keygen", {"show", out + "/certificate"}},
      {"keygen", {"show", ticket}},
      {"invite",
       {"node-4", "--join", "b:1", "--ticket-file", desk.folder / "4", "--cluster-key", desk.key}},
      {"revoke", revoke}};
  for (const ProgramCommand* command : commands())
    lines.emplace_back(command->name, Words{"--help"});
  const auto seed = decode_ticket(content_of(ticket));
  REQUIRE(seed.has_value());
  CHECK(std::ranges::any_of(secrets_of(KeyPair(seed->seed)), [&](const std::string& secret) {
    return holds(content_of(ticket), secret);
  }));
  for (auto& [command, words] : lines)
    for (const bool as_json : {false, true}) {
      const bool is_help = words.front() == "--help";
      if (as_json && is_help) continue;
      Words given = words;
      if (as_json) given.push_back("--json");
      if (as_json && command == "invite") given[4] = desk.folder / "4.json";
      CAPTURE(fmt::format("{} {}", command, fmt::join(given, " ")));
      const Printed printed = desk.run(command, given);
      CHECK(printed.code == kExitDone);
      CHECK_FALSE((printed.out + printed.err).empty());
      expect_no_secret(printed, desk.key, KeyKind::cluster);
      expect_no_secret(printed, out + "/key", KeyKind::node);
      for (const std::string& secret : secrets_of(KeyPair(seed->seed)))
        CHECK_FALSE(holds(printed.out + printed.err, secret));
    }
}
