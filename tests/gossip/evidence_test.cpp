// Signed records: who can say what of whom.
#include "gossip/members/evidence.h"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gossip/wire/fields.h"
#include "tests/gossip/crowd.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// An archive (see fields.h) whose changes each give one field of a record another value.
struct Alterations {
  std::vector<std::function<void()>> changes;

  void number(std::uint64_t& x, std::uint64_t) {
    changes.push_back([&x] { x ^= 1; });
  }
  void id(NodeId& x) { number(x.value, 0); }
  template <class E>
  void choice(E& x, E last) {
    changes.push_back([&x, last] { x = x == last ? E{} : last; });
  }
  void real(double& x) {
    changes.push_back([&x] { x += 1; });
  }
  void name(std::string& x, std::size_t) {
    changes.push_back([&x] { x += "x"; });
  }
  void bytes(std::string& x, std::size_t) {
    changes.push_back([&x] { x.back() = static_cast<char>(x.back() ^ 1); });
    changes.push_back([&x] { x.clear(); });
  }
  void endpoint(Endpoint& x) {
    changes.push_back([&x] { x.host = "10.9.9.9"; });
    changes.push_back([&x] { ++x.port; });
  }
};

// A record of node-`index`, signed with its certificate.
Member signed_record(const Options& options, std::uint64_t version = 0,
                     const std::function<void(Member&)>& change = {}) {
  Member record = Identity(options, Time{}).record();
  record.version = version;
  if (change) change(record);
  Body body = Join{record};
  Notary(options.credentials, 1, record.id).sign(body);
  return std::get<Join>(body).self;
}
Member signed_record(int index, std::uint64_t version = 0,
                     const std::function<void(Member&)>& change = {}) {
  return signed_record(keyed_options(index), version, change);
}

// Node-0, and why it did not believe what it heard.
struct Listener : Party {
  Listener() : Party(keyed_options(0)) {}
  std::vector<std::string> hear(const Rumor& rumor) {
    membership.receive(Time{}, {}, Gossip{{rumor}}, outbox);
    return outbox.notary().take_refusals();
  }
  const Member* find(int index) const {
    return membership.roster().find(node_id(party_options(index).name));
  }
};
using Reasons = std::vector<std::string>;

}  // namespace

TEST_CASE("Nodes with keys come to know each other and find who falls silent") {
  Cluster table(4, true);
  table.run(1s);
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t of = 0; of < 4; ++of)
      CHECK(table.seen(k, fmt::format("node-{}", of)) == Liveness::alive);
  table.parties[3].reset();
  table.run(12s);
  for (std::size_t k = 0; k < 3; ++k) CHECK(table.seen(k, "node-3") == Liveness::dead);
  for (std::size_t k = 0; k < 3; ++k)
    CHECK(table.parties[k]->outbox.notary().take_refusals().empty());
}

TEST_CASE("A record of which any field was changed is not believed") {
  Alterations all;
  Member record = signed_record(1);
  fields(all, record);
  REQUIRE(all.changes.size() > 18);
  for (const auto& change : all.changes) {
    record = signed_record(1);
    change();
    Listener node;
    node.hear({record});
    CHECK(node.membership.roster().others().empty());
    CHECK(node.hear({signed_record(1)}).empty());
    CHECK(node.find(1));
    node.hear({record});
    CHECK(node.find(1)->signature == signed_record(1).signature);
  }
}

TEST_CASE("A record without a signature is nobody's") {
  Listener node;
  CHECK(node.hear({Identity(party_options(1), Time{}).record()}) == Reasons{"unsigned"});
  CHECK(node.membership.roster().others().empty());
}

TEST_CASE("A record is signed by the owner of its name and by nobody else") {
  const KeyPair cluster = test_key(1);
  Options options = keyed_options(1);
  const Certificate other = certificate_of("node-2", test_key(12), cluster);
  options.credentials = credentials_of(other, test_key(12), cluster);
  Listener node;
  CHECK(node.hear({signed_record(options)}) == Reasons{"certificate"});
  // With the right certificate and another key.
  const Certificate right = certificate_of("node-1", test_key(11), cluster);
  options.credentials = credentials_of(right, test_key(12), cluster);
  CHECK(node.hear({signed_record(options)}) == Reasons{"signature"});
  // With a certificate of another cluster key, or of its own.
  for (const int by : {2, 11}) {
    const Certificate strange = certificate_of("node-1", test_key(11), test_key(by));
    options.credentials = credentials_of(strange, test_key(11), cluster);
    CHECK(node.hear({signed_record(options)}) ==
          Reasons{by == 2 ? "other-cluster" : "unknown-key"});
  }
  CHECK(node.membership.roster().others().empty());
}

TEST_CASE("A clock that jumps makes no member vanish") {
  const KeyPair cluster = test_key(1);
  Certificate draft = certificate_draft("node-1", test_key(11));
  draft.not_before = draft.not_after = 1;
  Options options = keyed_options(1);
  options.credentials = credentials_of(*sign_certificate(draft, cluster), test_key(11), cluster);
  Listener node;
  CHECK(node.hear({signed_record(options)}).empty());
  CHECK(node.find(1));
}

TEST_CASE("Who was revoked is not heard any more") {
  const KeyPair cluster = test_key(1);
  const std::vector<Revocations::Name> names{{"node-1", kToday}};
  Listener node;
  CHECK(node.hear({signed_record(1)}).empty());
  REQUIRE(node.options.credentials->authority.learn(*revoke({}, names, {}, cluster)));
  CHECK(node.hear({signed_record(1, 5)}) == Reasons{"revoked"});
  CHECK(node.find(1)->version == 0);
}

TEST_CASE("A later certificate of a name replaces the earlier one whatever the incarnations") {
  const KeyPair cluster = test_key(1);
  Certificate draft = certificate_draft("node-1", test_key(21));
  ++draft.not_before;
  Options later = keyed_options(1);
  later.credentials = credentials_of(*sign_certificate(draft, cluster), test_key(21), cluster);
  Listener node;
  Options earlier = keyed_options(1, 1000);
  CHECK(node.hear({signed_record(earlier)}).empty());
  CHECK(node.hear({signed_record(later)}).empty());
  CHECK(node.find(1)->incarnation == 1);
  CHECK(node.hear({signed_record(earlier, 7)}) == Reasons{"superseded"});
  CHECK(node.find(1)->incarnation == 1);
}

TEST_CASE("That a member has left only the member says") {
  Listener node;
  const Member record = signed_record(1);
  CHECK(node.hear({record}).empty());
  CHECK(node.hear({record, Liveness::left, node_id("node-2")}) == Reasons{"farewell"});
  CHECK(node.find(1));
  const auto leave = [](Member& member) { member.phase = Phase::left; };
  // Whatever another makes of it.
  CHECK(node.hear({signed_record(1, 1, leave), Liveness::alive}).empty());
  CHECK_FALSE(node.find(1));
}

TEST_CASE("Of two signed records that contradict each other all nodes keep the same") {
  const auto train = [](Member& member) { member.phase = Phase::training; };
  const auto pause = [](Member& member) { member.phase = Phase::paused; };
  const auto move = [](Member& member) { member.control.port = 1; };
  const std::vector<Member> told{signed_record(1, 3, train), signed_record(1, 3, pause),
                                 signed_record(1, 3, move)};
  std::vector<std::size_t> order{0, 1, 2};
  std::optional<std::string> kept;
  do {
    Listener node;
    for (const std::size_t k : order) CHECK(node.hear({told[k]}).empty());
    if (!kept) kept = node.find(1)->signature;
    CHECK(node.find(1)->signature == *kept);
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("An older record changes nothing and is not even verified") {
  Listener node;
  CHECK(node.hear({signed_record(1, 5)}).empty());
  Member older = signed_record(1, 4);
  older.signature.back() = static_cast<char>(older.signature.back() ^ 1);
  CHECK(node.hear({older, Liveness::dead}).empty());
  CHECK(node.find(1)->version == 5);
}
