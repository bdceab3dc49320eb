#include "gossip/trust/certificate.h"

#include <doctest/doctest.h>

#include "base/utc.h"
#include "gossip/wire/wire.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

std::string error_of(const Certificate& draft) {
  const auto signed_one = sign_certificate(draft, test_key(1));
  return signed_one ? "" : signed_one.error().text;
}

std::string decoding_error(const std::string& bytes) {
  const auto decoded = decode_certificate(as_bytes(bytes));
  return decoded ? "" : decoded.error().text;
}

}  // namespace

TEST_CASE("A certificate survives its encoding") {
  const KeyPair cluster = test_key(1), node = test_key(2);
  Certificate draft = certificate_draft("Knoten-3 in Köln", node);
  for (const char* group : {"", "hospitals"}) {
    draft.group = group;
    const auto certificate = sign_certificate(draft, cluster);
    REQUIRE(certificate.has_value());
    CHECK(certificate->cluster == cluster.public_key());
    CHECK(is_signed(*certificate));
    const auto decoded = decode_certificate(as_bytes(encode(*certificate)));
    REQUIRE(decoded.has_value());
    CHECK(*decoded == *certificate);
  }
  CHECK(encode(certificate_of("node-3", node, cluster)).size() == 152);
}

TEST_CASE("A certificate with a flipped bit or cut off anywhere is refused") {
  const KeyPair cluster = test_key(1);
  const std::string bytes = encode(certificate_of("node-3", test_key(2), cluster));
  damage(bytes, [&](const std::string& damaged, std::size_t at) {
    CAPTURE(at);
    const auto decoded = decode_certificate(as_bytes(damaged));
    CHECK_FALSE((decoded && decoded->cluster == cluster.public_key() && is_signed(*decoded)));
  });
  CHECK_FALSE(decode_certificate(as_bytes(bytes + "x")).has_value());
}

TEST_CASE("A certificate belongs to the key that signed it alone") {
  Certificate certificate = certificate_of("node-3", test_key(2), test_key(1));
  certificate.cluster = test_key(3).public_key();
  CHECK_FALSE(is_signed(certificate));
  const Certificate own = certificate_of("node-3", test_key(2), test_key(2));
  CHECK(own.is_self_signed());
  CHECK(is_signed(own));
}

TEST_CASE("What is beyond a limit is neither signed nor read") {
  const Certificate good = certificate_draft("node-3", test_key(2));
  CHECK(error_of(good).empty());
  Certificate draft = good;
  for (const std::string& name :
       {std::string(), std::string(kNameBytesLimit + 1, 'x'), std::string("a\nb"),
        std::string("\xff"), std::string("a\x1b[2J")}) {
    CAPTURE(name);
    draft.name = name;
    CHECK(error_of(draft).starts_with("a node's name has 1 to 128 bytes"));
    Certificate forged = good;  // signed all the same, by somebody with another program
    forged.name = name;
    CHECK_FALSE(decoding_error(encode(forged)).empty());
  }
  draft = good;
  draft.name = std::string(kNameBytesLimit, 'x');
  draft.group = std::string(kNameBytesLimit, 'y');
  CHECK(error_of(draft).empty());
  CHECK(encode(*sign_certificate(draft, test_key(1))).size() <= Certificate::kBytesLimit);
  draft.group += "y";
  CHECK(error_of(draft).starts_with("a group's name has at most 128 bytes"));
  draft = good;
  draft.not_after = draft.not_before - 1;
  CHECK(error_of(draft).find("expected the end after the beginning") != std::string::npos);
  CHECK(decoding_error(encode(draft)).starts_with("a certificate with a wrong field"));
  draft.not_after = kLatestMoment + 1;
  CHECK_FALSE(error_of(draft).empty());
  CHECK(decoding_error(encode(draft)) == "a certificate that is malformed");
}

TEST_CASE("A certificate of a later version is named as such") {
  std::string bytes = encode(certificate_of("node-3", test_key(2), test_key(1)));
  REQUIRE(bytes[1] == 1);
  bytes[1] = 2;
  CHECK(decoding_error(bytes) == "a certificate of version 2; this program reads version 1");
  CHECK(decoding_error("").starts_with("a certificate of 0 bytes; expected 65 to 512"));
  CHECK(decoding_error(std::string(100'000, '\x90')).find("expected 65 to 512") !=
        std::string::npos);
}
