#include "gossip/trust/revocations.h"

#include <doctest/doctest.h>

#include "gossip/wire/wire.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

using Names = std::vector<Revocations::Name>;
using Keys = std::vector<Revocations::Key>;

Revocations revoked(const Revocations& list, const Names& names, const Keys& keys = {}) {
  const auto next = revoke(list, names, keys, test_key(1));
  REQUIRE(next.has_value());
  return *next;
}

}  // namespace

TEST_CASE("A revocation list survives its encoding") {
  const Revocations list = revoked({}, {{"node-3", kToday}, {"a", 5}},
                                   {{test_key(4).public_key(), 7}, {test_key(5).public_key(), 8}});
  CHECK(list.number == 1);
  CHECK(list.names.front().name == "a");
  const auto decoded = decode_revocations(as_bytes(encode(list)));
  REQUIRE(decoded.has_value());
  CHECK(*decoded == list);
  CHECK(is_signed(*decoded));
}

TEST_CASE("A revocation list with a flipped bit or cut off anywhere is refused") {
  const KeyPair cluster = test_key(1);
  const std::string bytes =
      encode(revoked({}, {{"node-3", kToday}, {"a", 5}}, {{test_key(4).public_key(), 7}}));
  damage(bytes, [&](const std::string& damaged, std::size_t at) {
    CAPTURE(at);
    const auto decoded = decode_revocations(as_bytes(damaged));
    CHECK_FALSE((decoded && decoded->cluster == cluster.public_key() && is_signed(*decoded)));
  });
}

TEST_CASE("A revoked name is refused up to that time and a revoked key for ever") {
  const Revocations list = revoked({}, {{"node-3", kToday}}, {{test_key(4).public_key(), kToday}});
  Certificate certificate = certificate_draft("node-3", test_key(2));
  certificate.not_before = kToday;
  CHECK(revoked_at(list, certificate) == kToday);
  certificate.not_before = kToday + 1;
  CHECK_FALSE(revoked_at(list, certificate).has_value());
  certificate.key = test_key(4).public_key();
  certificate.name = "node-9";
  CHECK(revoked_at(list, certificate) == kToday);
  CHECK_FALSE(revoked_at({}, certificate).has_value());
}

TEST_CASE("Every change of the list raises its number and keeps its order") {
  Revocations list = revoked({}, {{"b", 1}});
  list = revoked(list, {{"a", 2}, {"c", 3}, {"b", 9}, {"b", 4}});
  CHECK(list.number == 2);
  CHECK(list.names == Names{{"a", 2}, {"b", 9}, {"c", 3}});
  CHECK(supersedes(list, revoked({}, {{"b", 1}})));
  CHECK_FALSE(supersedes(list, list));
}

TEST_CASE("Of two lists of one number all nodes keep the same") {
  const Revocations one = revoked({}, {{"a", 1}}), other = revoked({}, {{"b", 1}});
  CHECK(supersedes(one, other) != supersedes(other, one));
}

TEST_CASE("A full list fits and one entry more is refused with the limit") {
  Names names;
  Keys keys;
  for (std::size_t i = 0; i < kRevocationsLimit; ++i) {
    names.push_back({fmt::format("{:0>{}}", i, kNameBytesLimit), kToday});
    PublicKey key;
    key.bytes[0] = static_cast<std::byte>(i);
    key.bytes[1] = static_cast<std::byte>(i >> 8);
    keys.push_back({key, kToday});
  }
  const Revocations list = revoked({}, names, keys);
  const std::string bytes = encode(list);
  CHECK(bytes.size() <= Revocations::kBytesLimit);
  CHECK(bytes.size() < kHeaderBytesLimit - 1024);
  CHECK(decode_revocations(as_bytes(bytes)).has_value());
  const auto more = revoke(list, Names{{"one more", 1}}, {}, test_key(1));
  REQUIRE_FALSE(more.has_value());
  CHECK(more.error().text.starts_with("a revocation list has at most 4096 names"));
  CHECK_FALSE(revoke({}, Names{{"a\nb", 1}}, {}, test_key(1)).has_value());
}

TEST_CASE("A list out of order is refused even if it is signed") {
  Revocations list = revoked({}, {{"a", 1}, {"b", 2}});
  std::swap(list.names[0], list.names[1]);
  CHECK_FALSE(decode_revocations(as_bytes(encode(list))).has_value());
  list.names[1] = list.names[0];
  CHECK_FALSE(decode_revocations(as_bytes(encode(list))).has_value());
}
