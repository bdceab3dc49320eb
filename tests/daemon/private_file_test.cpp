#include "daemon/process/private_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "daemon/setup/key_file.h"
#include "daemon/setup/trust_files.h"
#include "tests/daemon/temporary_folder.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::daemon;
using namespace starling::test;

namespace {

std::string error_of(const auto& result) {
  return result ? "" : result.error().text;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("A private file is its owner's alone and is never written over") {
  const TemporaryFolder folder;
  const std::string path = folder / "secret";
  REQUIRE(write_private_file(path, as_bytes("first")).has_value());
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(error_of(write_private_file(path, as_bytes("second"))) ==
        path + " is there already, and is not written over");
  const auto read = read_private_file(path, 100);
  REQUIRE(read.has_value());
  CHECK(read->text() == "first");
  CHECK(holds(error_of(read_private_file(path, 4)), "has 5 bytes; expected at most 4"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK(holds(error_of(write_private_file(folder / "no/secret", as_bytes("x"))), "cannot write"));
}

TEST_CASE("A file that others can get at is refused with the command that mends it") {
  const TemporaryFolder folder;
  const std::string path = folder / "secret";
  REQUIRE(write_private_file(path, as_bytes("x")).has_value());
  for (const mode_t mode : {0640, 0604, 0644, 0620, 0601, 0777, 0460}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const std::string error = error_of(read_private_file(path, 100));
    CHECK(holds(error, fmt::format("its mode {:04o} lets others at it", mode)));
    CHECK(holds(error, "chmod 600 " + path));
    CHECK(error == error_of(check_private(path)));
    CHECK(read_as_secret(path, 100).has_value());
  }
  for (const mode_t mode : {0600, 0400, 0700}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(read_private_file(path, 100).has_value());
  }
  CHECK(holds(error_of(read_private_file(folder.path(), 100)), "is no ordinary file"));
  CHECK(holds(error_of(read_private_file(folder / "none", 100)), "No such file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(holds(error_of(read_private_file(folder / "pipe", 100)), "is no ordinary file"));
}

TEST_CASE("A key survives its file and says which kind it is") {
  const TemporaryFolder folder;
  const KeyPair key = new_key();
  CHECK(key.public_key() != new_key().public_key());
  REQUIRE(save_key_file(folder / "cluster", KeyKind::cluster, key).has_value());
  const auto loaded = load_key_file(folder / "cluster", KeyKind::cluster);
  REQUIRE(loaded.has_value());
  CHECK(loaded->public_key() == key.public_key());
  CHECK(holds(error_of(load_key_file(folder / "cluster", KeyKind::node)),
              "cluster: this is a cluster key; expected a node key"));
  CHECK_FALSE(save_key_file(folder / "cluster", KeyKind::node, key).has_value());
  std::string line;
  std::getline(std::ifstream(folder / "cluster"), line);
  CHECK(line.starts_with("starling-cluster-key-1:ed25519:"));
  for (std::size_t size = 0; size < line.size(); ++size) {
    const std::string path = folder / fmt::format("cut-{}", size);
    REQUIRE(write_private_file(path, as_bytes(line.substr(0, size))).has_value());
    const std::string error = error_of(load_key_file(path, KeyKind::cluster));
    CHECK_FALSE(error.empty());
    if (size > 40) CHECK_FALSE(holds(error, line.substr(31, size - 31)));  // quotes no secret
  }
}

TEST_CASE("Certificates and lists survive their files") {
  const TemporaryFolder folder;
  const auto certificate = certificate_of("node-3", test_key(2), test_key(1));
  REQUIRE(save_certificate(folder / "certificate", certificate).has_value());
  REQUIRE(save_certificate(folder / "certificate", certificate).has_value());
  REQUIRE(load_certificate(folder / "certificate").has_value());
  CHECK(*load_certificate(folder / "certificate") == certificate);
  CHECK(holds(error_of(load_certificate(folder / "none")), "no such file"));

  CHECK(*load_revocations(folder / "list") == std::nullopt);
  const gossip::Revocations::Name names[] = {{"node-3", kToday}};
  const auto list = gossip::revoke({}, names, {}, test_key(1));
  REQUIRE(save_revocations(folder / "list", *list).has_value());
  CHECK(*load_revocations(folder / "list") == *list);
  CHECK(holds(error_of(load_certificate(folder / "list")),
              "this is a revocation list; expected a certificate"));

  gossip::Certificate forged = certificate;
  forged.name = "node-4";
  REQUIRE(save_certificate(folder / "forged", forged).has_value());
  CHECK(holds(error_of(load_certificate(folder / "forged")), "with a wrong signature"));
}
