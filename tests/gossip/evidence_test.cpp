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
  void flag(bool& x) {
    changes.push_back([&x] { x = !x; });
  }
  void real(double& x) {
    changes.push_back([&x] { x += 1; });
  }
  void name(std::string& x, std::size_t most) { text(x, most); }
  void text(std::string& x, std::size_t) {
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

// What node-`accuser` says of another.
Rumor accusation(int accuser, const Member& accused, Liveness liveness = Liveness::dead) {
  const Options options = keyed_options(accuser);
  Body body = Gossip{{{accused, liveness, node_id(options.name)}}};
  Notary(options.credentials, 1, node_id(options.name)).sign(body);
  return std::get<Gossip>(body).rumors.front();
}

// Node-0, and why it did not believe what it heard.
struct Listener : Party {
  explicit Listener(int others = 0) : Party(keyed_options(0)) {
    for (int k = 1; k <= others; ++k) hear({signed_record(k)});
    said();
  }
  std::vector<std::string> hear(const Rumor& rumor) {
    membership.receive(Time{}, {}, Gossip{{rumor}}, outbox);
    membership.tick(Time{}, outbox);
    return outbox.notary().take_refusals();
  }
  Liveness of(int index) const { return liveness(Time{}, party_options(index).name); }
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
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(table.seen(k, "node-3") == Liveness::dead);
    CHECK(table.parties[k]->outbox.notary().take_refusals().empty());
  }
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

TEST_CASE("No member is dead by the word of one other whose word makes this node look itself") {
  Listener node(8);
  for (int repeat = 0; repeat < 5; ++repeat)
    CHECK(node.hear(accusation(1, signed_record(2))).empty());
  CHECK(node.of(2) == Liveness::suspect);
  REQUIRE(node.probed().size() == 1);
  node.membership.refused(Time{}, {node_id("node-2"), party_options(2).control}, node.outbox);
  node.membership.tick(Time{}, node.outbox);
  CHECK(node.of(2) == Liveness::dead);
}

TEST_CASE("A member is dead by the words of more others than can lie together") {
  for (const int others : {2, 3, 4, 8}) {
    CAPTURE(others);
    Listener node(others);
    int claims = 0;
    for (int accuser = 2; accuser <= others && node.of(1) != Liveness::dead; ++accuser, ++claims)
      CHECK(node.hear(accusation(accuser, signed_record(1))).empty());
    // Besides node-0 and the accused there are others - 1.
    CHECK((node.of(1) == Liveness::dead) == (others == 8));
    CHECK(claims == std::min(others - 1, 4));
  }
}

TEST_CASE("An accusation that its accuser did not sign is none") {
  const Member accused = signed_record(2);
  std::map<std::string, Rumor> forged{{"of another", accusation(1, signed_record(3))},
                                      {"of another version", accusation(1, signed_record(2, 1))},
                                      {"unsigned", accusation(1, accused)},
                                      {"by another", accusation(1, accused)},
                                      {"by itself", accusation(2, accused)}};
  forged["unsigned"].signature.clear();
  forged["by another"].accuser = node_id("node-4");
  for (const Liveness told : {Liveness::suspect, Liveness::dead})
    for (auto [name, rumor] : forged) {
      CAPTURE(name);
      rumor.member = accused;
      rumor.liveness = told;
      Listener node(8);
      CHECK(node.hear(rumor) == Reasons{"accusation"});
      CHECK(node.of(2) == Liveness::alive);
    }
  // A suspicion is no word of death.
  Rumor worse = accusation(1, accused, Liveness::suspect);
  worse.liveness = Liveness::dead;
  Listener node(8);
  CHECK(node.hear(worse) == Reasons{"accusation"});
}

TEST_CASE("Who is not known accuses nobody") {
  Listener node(2);
  CHECK(node.hear(accusation(5, signed_record(2))).empty());
  CHECK(node.of(2) == Liveness::alive);
}

TEST_CASE("A node that hears of a member first as of a dead one believes that it lives") {
  Listener node(1);
  CHECK(node.hear(accusation(1, signed_record(2))).empty());
  CHECK(node.of(2) == Liveness::dead);
  CHECK(node.hear(accusation(1, signed_record(2))).empty());
  CHECK(node.of(2) == Liveness::dead);
  CHECK(node.hear({signed_record(2)}).empty());
  CHECK(node.of(2) == Liveness::alive);
}
