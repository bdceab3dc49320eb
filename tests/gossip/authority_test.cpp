#include "gossip/trust/authority.h"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <set>

#include "base/utf8.h"
#include "tests/gossip/certificates.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

using Reason = Refusal::Reason;

CurveKey proof_of(const KeyPair& pair) {
  return *curve_key(pair.public_key());
}

// A cluster of key 1, which has authorized node-8 with key 8.
Authority an_authority() {
  const auto authorized =
      AuthorizedKeys::parse("node-8 " + to_string(test_key(8).public_key()) + "\n");
  REQUIRE(authorized.has_value());
  return Authority(test_key(1).public_key(), *authorized);
}

std::optional<Refusal> judge(Authority& authority, const Certificate& certificate,
                             const KeyPair& proven, std::uint64_t now = kToday) {
  return authority.judge(certificate, proof_of(proven), now);
}

Certificate later_by(std::uint64_t seconds, int key) {
  Certificate draft = certificate_draft("node-3", test_key(key));
  draft.not_before += seconds;
  return *sign_certificate(draft, test_key(1));
}

Revocations list_of(const std::string& name, std::uint64_t time, Revocations before = {},
                    int by = 1) {
  const Revocations::Name names[] = {{name, time}};
  return *revoke(std::move(before), names, {}, test_key(by));
}

// A certificate that is refused for each reason, and the words that say what to do.
struct Example {
  std::function<std::optional<Refusal>(Authority&)> judged;
  std::vector<std::string_view> words;
};

const std::map<Reason, Example>& examples() {
  static const KeyPair cluster = test_key(1), node = test_key(2), other = test_key(3);
  static const std::map<Reason, Example> all = {
      {Reason::other_key,
       {[](Authority& a) { return judge(a, certificate_of("node-3", node, cluster), other); },
        {"node-3", "key file"}}},
      {Reason::unknown_key,
       {[](Authority& a) { return judge(a, certificate_of("node-3", node, node), node); },
        {"starling invite", "authorized keys: node-3 "}}},
      {Reason::other_cluster,
       {[](Authority& a) { return judge(a, certificate_of("node-3", node, other), node); },
        {"this cluster's key", "starling invite"}}},
      {Reason::bad_signature,
       {[](Authority& a) {
          Certificate forged = certificate_of("node-3", node, cluster);
          forged.not_after += 1000 * kDay;
          return judge(a, forged, node);
        },
        {"changed or damaged", "starling invite"}}},
      {Reason::revoked,
       {[](Authority& a) {
          CHECK(a.learn(list_of("node-3", kToday)));
          return judge(a, certificate_of("node-3", node, cluster), node);
        },
        {"revoked at 2026-11-23 22:08 UTC", "new key"}}},
      {Reason::not_yet_valid,
       {[](Authority& a) {
          return judge(a, certificate_of("node-3", node, cluster), node, kToday - 366 * kDay);
        },
        {"from 2026-11-22 22:08 UTC", "clock says 2025-11-22 22:08 UTC", "date -u"}}},
      {Reason::expired,
       {[](Authority& a) {
          return judge(a, certificate_of("node-3", node, cluster), node, kToday + 2 * kDay);
        },
        {"until 2026-11-24 22:08 UTC", "clock says 2026-11-25 22:08 UTC", "renew"}}},
      {Reason::superseded,
       {[](Authority& a) {
          CHECK_FALSE(judge(a, later_by(60, 3), other).has_value());
          return judge(a, later_by(0, 2), node);
        },
        {"a later one", "invite it again"}}},
  };
  return all;
}

}  // namespace

TEST_CASE("Every reason to refuse a certificate is met and says what to do") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Refusal::kLast); ++i) {
    const auto reason = static_cast<Reason>(i);
    CAPTURE(to_string(reason));
    names.insert(to_string(reason));
    REQUIRE(examples().contains(reason));
    Authority authority = an_authority();
    const auto refusal = examples().at(reason).judged(authority);
    REQUIRE(refusal.has_value());
    CHECK(to_string(refusal->reason) == to_string(reason));
    CHECK(is_plain(refusal->words));
    for (const std::string_view words : examples().at(reason).words)
      CHECK_MESSAGE(refusal->words.find(words) != std::string::npos, refusal->words);
  }
  CHECK(names.size() == examples().size());
}

TEST_CASE("A certificate of the cluster key is accepted again and again") {
  Authority authority = an_authority();
  for (const std::uint64_t now : {kToday, kToday - kDay, kToday + kDay, kToday})
    CHECK_FALSE(
        judge(authority, certificate_of("node-3", test_key(2), test_key(1)), test_key(2), now));
  CHECK_FALSE(judge(authority, certificate_of("node-4", test_key(3), test_key(1)), test_key(3)));
}

TEST_CASE("A clock a month behind does not shut a node out") {
  const auto judged = [](std::uint64_t behind) {
    Authority authority = an_authority();
    const Certificate certificate = certificate_of("node-3", test_key(2), test_key(1));
    return judge(authority, certificate, test_key(2), certificate.not_before - behind);
  };
  CHECK_FALSE(judged(30 * kDay).has_value());
  CHECK_FALSE(judged(kClockTolerance).has_value());
  CHECK(judged(kClockTolerance + 1).has_value());
}

TEST_CASE("Authorized keys are accepted without a cluster key") {
  const auto authorized = AuthorizedKeys::parse("node-8 " + to_string(test_key(8).public_key()));
  Authority authority(std::nullopt, *authorized);
  CHECK_FALSE(judge(authority, certificate_of("node-8", test_key(8), test_key(8)), test_key(8)));
  auto refusal = judge(authority, certificate_of("node-8", test_key(9), test_key(9)), test_key(9));
  REQUIRE(refusal.has_value());
  CHECK(refusal->reason == Reason::unknown_key);
  CHECK(refusal->words.find("the authorized keys have") != std::string::npos);
  refusal = judge(authority, certificate_of("node-8", test_key(8), test_key(1)), test_key(8));
  REQUIRE(refusal.has_value());
  CHECK(refusal->reason == Reason::other_cluster);
  CHECK(refusal->words.find("this node has no cluster key") != std::string::npos);
  CHECK_FALSE(authority.learn(list_of("node-8", kToday)));
}

TEST_CASE("A name goes to its later certificate and never back") {
  Authority authority = an_authority();
  CHECK_FALSE(judge(authority, later_by(0, 2), test_key(2)));
  CHECK_FALSE(judge(authority, later_by(1, 3), test_key(3)));
  CHECK(judge(authority, later_by(0, 2), test_key(2))->reason == Reason::superseded);
  CHECK_FALSE(judge(authority, later_by(1, 3), test_key(3)));
}

TEST_CASE("A renewed certificate leaves the earlier one of its key in use") {
  Authority authority = an_authority();
  CHECK_FALSE(judge(authority, later_by(1, 2), test_key(2)));
  CHECK_FALSE(judge(authority, later_by(0, 2), test_key(2)));
  CHECK(judge(authority, later_by(0, 3), test_key(3))->reason == Reason::superseded);
}

TEST_CASE("Two keys of a name from one second are ordered alike at all nodes") {
  Authority one = an_authority(), other = an_authority();
  const bool first =
      !judge(one, later_by(0, 2), test_key(2)) && !judge(one, later_by(0, 3), test_key(3));
  const bool second =
      !judge(other, later_by(0, 3), test_key(3)) && !judge(other, later_by(0, 2), test_key(2));
  CHECK(first != second);
}

TEST_CASE("A refused certificate does not take a name") {
  Authority authority = an_authority();
  Certificate forged = later_by(100, 3);
  forged.signature.bytes[0] ^= std::byte{1};
  CHECK(judge(authority, forged, test_key(3))->reason == Reason::bad_signature);
  CHECK_FALSE(judge(authority, later_by(0, 2), test_key(2)));
}

TEST_CASE("A list of revocations is learned once and only from the cluster key") {
  Authority authority = an_authority();
  const Revocations first = list_of("node-3", kToday);
  CHECK_FALSE(authority.learn({}));
  CHECK_FALSE(authority.learn(list_of("node-3", kToday, {}, 2)));
  Revocations forged = first;
  forged.number = 100;
  CHECK_FALSE(authority.learn(forged));
  CHECK(authority.learn(first));
  CHECK_FALSE(authority.learn(first));
  const Revocations second = list_of("node-4", kToday, first);
  CHECK(authority.learn(second));
  CHECK_FALSE(authority.learn(first));
  CHECK(authority.revocations() == second);
}

TEST_CASE("A node that was revoked comes back with a later certificate") {
  Authority authority = an_authority();
  CHECK_FALSE(judge(authority, later_by(0, 2), test_key(2)));
  CHECK(authority.learn(list_of("node-3", kToday - kDay)));
  CHECK(judge(authority, later_by(0, 2), test_key(2))->reason == Reason::revoked);
  CHECK_FALSE(judge(authority, later_by(1, 2), test_key(2)));
}
