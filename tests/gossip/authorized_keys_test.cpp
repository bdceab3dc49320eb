#include "gossip/trust/authorized_keys.h"

#include <doctest/doctest.h>

#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

std::string key_text(int number) {
  return to_string(test_key(number).public_key());
}

std::string error_of(const std::string& text) {
  const auto keys = AuthorizedKeys::parse(text);
  return keys ? "" : keys.error().text;
}

}  // namespace

TEST_CASE("Authorized keys are names and keys a line each") {
  const auto keys = AuthorizedKeys::parse("# the three of us\n\nnode-1 " + key_text(1) +
                                          "\r\n  the second one\t" + key_text(2) + "  \n#node-3 x");
  REQUIRE(keys.has_value());
  CHECK(keys->size() == 2);
  REQUIRE(keys->find("node-1") != nullptr);
  CHECK(*keys->find("node-1") == test_key(1).public_key());
  REQUIRE(keys->find("the second one") != nullptr);
  CHECK(keys->find("node-3") == nullptr);
  CHECK(AuthorizedKeys::parse("")->size() == 0);
}

TEST_CASE("A wrong line of authorized keys is named by its number") {
  const std::string first = "node-1 " + key_text(1) + "\n";
  CHECK(error_of(first + "\nnode-2") == "line 3: expected NAME KEY, got one word");
  CHECK(error_of("node-1 abc").starts_with("line 1: \"abc\": expected a public key, 43 letters"));
  CHECK(error_of(first + "node-1 " + key_text(2)) == "line 2: node-1 again; a node has one key");
  CHECK(error_of(first + "node-2 " + key_text(1)) ==
        "line 2: the key of node-1 again; each node has its own");
  CHECK(error_of("\x1b[2J " + key_text(1)).starts_with("line 1: a name has at most 128 bytes"));
  CHECK(error_of(std::string(129, 'x') + " " + key_text(1)).starts_with("line 1: a name has"));
  CHECK(error_of(std::string(kAuthorizedKeysBytesLimit + 1, '\n')).find("expected at most") !=
        std::string::npos);
}
