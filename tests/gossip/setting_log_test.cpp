#include "gossip/node/setting_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "optim/options.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

namespace {

// Knows one key, stop.rounds, whose values are below 1000.
Result<Reconfigured> rounds_of(std::span<const Term> terms) {
  Options node;
  for (const auto& [key, value] : terms) {
    const auto rounds = parse_integer(value);
    if (key != "stop.rounds" || !rounds || *rounds >= 1000)
      return fail("{} = {}: expected less", key, value);
    node.goal.rounds = static_cast<std::uint64_t>(*rounds);
  }
  return Reconfigured{std::make_shared<const Options>(node),
                      std::make_shared<const optim::Options>()};
}

SettingChange change(std::uint64_t round, std::uint64_t number, const std::string& value,
                     const std::string& author = "node-2") {
  return {.round = round, .number = number, .author = author, .terms = {{"stop.rounds", value}}};
}

struct Desk {
  explicit Desk(Options options = test::party_options(1), std::vector<SettingChange> kept = {})
      : party([&options] {
          options.reconfigure = rounds_of;
          return options;
        }()),
        log(party.options, std::move(kept)) {}

  void hear(const std::vector<SettingChange>& changes, std::uint64_t own = 10) {
    log.receive({.sender = node_id("node-2")}, {false, changes}, own, party.membership.roster(),
                party.outbox);
  }
  // stop.rounds in that round.
  std::uint64_t in(std::uint64_t round) {
    log.enter(round, party.membership.roster(), budget, party.outbox);
    return party.options.goal.rounds;
  }

  test::Party party;
  ExchangeBudget budget{{}, {}};
  SettingLog log;
};

// Of node-`index`, whose certificate is of the group.
Options options_of_group(int index, const std::string& group) {
  Options options = test::keyed_options(index);
  const KeyPair cluster = test::test_key(1);
  Certificate draft = options.credentials->certificate;
  draft.group = group;
  options.credentials =
      test::credentials_of(*sign_certificate(draft, cluster),
                           test::test_key(static_cast<std::size_t>(10 + index)), cluster);
  return options;
}

// What a user of that node sets.
SettingChange set_at(Options options) {
  Desk desk(std::move(options));
  if (!desk.party.outbox.notary().may_change_settings()) {
    SettingChange forbidden = change(20, 1, "70");
    desk.party.outbox.notary().sign(forbidden);
    return forbidden;
  }
  desk.log.set({.agreed = {{"stop.rounds", "70"}}}, 10, 20, desk.party.membership.roster(),
               desk.party.outbox);
  return desk.log.changes().at(0);
}

}  // namespace

TEST_CASE("The values of a round follow from the changes whatever order they came in") {
  std::vector<SettingChange> changes = {change(20, 1, "50"), change(20, 2, "60", "node-1"),
                                        change(30, 1, "70")};
  std::ranges::sort(changes, {}, &SettingChange::order);
  std::vector<SettingChange> permuted = changes;
  do {
    Desk desk;
    for (const SettingChange& one : permuted) desk.hear({one});
    CHECK(desk.in(19) == 0);
    CHECK(desk.in(20) == 60);
    CHECK(desk.in(31) == 70);
    Desk other;
    other.hear(changes);
    CHECK(desk.log.hash() == other.log.hash());
  } while (std::ranges::next_permutation(permuted, {}, &SettingChange::order).found);
}

TEST_CASE("After a forged change of the last number what a user sets can be told") {
  Desk desk;
  desk.hear({change(15, kRoundLimit, "50")});
  desk.log.set({.agreed = {{"stop.rounds", "60"}}}, 10, 20, desk.party.membership.roster(),
               desk.party.outbox);
  const std::string told = encode(desk.log.changes());
  const auto read = decode_setting_changes(std::as_bytes(std::span(told)));
  REQUIRE(read);
  CHECK(read->size() == 2);
  CHECK(desk.in(20) == 60);
}

TEST_CASE("What a user sets later does not hold earlier") {
  Desk desk;
  const auto set = [&](const std::string& value, std::uint64_t soon, std::uint64_t at_round = 0) {
    desk.log.set({.agreed = {{"stop.rounds", value}}, .at_round = at_round}, 10, soon,
                 desk.party.membership.roster(), desk.party.outbox);
  };
  set("90", 20, 1000);
  set("50", 40);
  // Rounds have become longer meanwhile.
  set("60", 20);
  CHECK(desk.log.changes().at(1).round == 40);
  CHECK(desk.in(39) == 0);
  CHECK(desk.in(40) == 60);
  CHECK(desk.in(1000) == 90);
}

TEST_CASE("A change that is known late holds from the next round on") {
  Desk desk;
  CHECK(desk.in(25) == 0);
  desk.hear({change(20, 1, "50")});
  CHECK(desk.in(26) == 50);
}

TEST_CASE("A change that cannot be is left out and the others hold") {
  Desk desk;
  desk.hear({change(20, 1, "50"), change(21, 2, "5000"), change(22, 3, "60")});
  CHECK(desk.in(21) == 50);
  CHECK(desk.log.warning().find("stop.rounds = 5000, of node-2") != std::string::npos);
  CHECK(desk.in(22) == 60);
}

TEST_CASE("Nothing but changes that cannot be leaves the values of the start") {
  Desk desk;
  desk.hear({change(20, 1, "5000")});
  CHECK(desk.in(21) == 0);
}

TEST_CASE("A change of a round that no node comes to is not taken") {
  Desk desk;
  desk.hear({change(1ULL << 40, 1, "50")});
  CHECK(desk.log.changes().empty());
  Member member = test::sample_member("node-2");
  member.round = (1ULL << 40) + 5;
  desk.party.membership.receive(Time{}, {}, Gossip{{{member}}}, desk.party.outbox);
  desk.hear({change(1ULL << 40, 1, "50")});
  CHECK(desk.log.changes().size() == 1);
}

TEST_CASE("A log has a limit and says that it is full") {
  Desk desk;
  std::vector<SettingChange> changes;
  for (std::uint64_t k = 1; k <= kSettingChangesLimit + 5; ++k)
    changes.push_back(change(20, k, "50"));
  desk.hear(changes);
  CHECK(desk.log.changes().size() == kSettingChangesLimit);
  CHECK(desk.log.warning().find("no further change") != std::string::npos);
}

TEST_CASE("The log of an earlier life holds from the first round on") {
  Desk desk(test::party_options(1), {change(20, 1, "50")});
  CHECK(desk.in(90) == 50);
  CHECK(desk.log.hash() != 0);
}

TEST_CASE("With keys a change is believed that an operator signed and no other") {
  Desk desk(options_of_group(1, "nurses"));
  SettingChange sound = set_at(options_of_group(2, "operator"));
  desk.hear({set_at(options_of_group(2, "nurses"))});
  desk.log.set({.agreed = {{"stop.rounds", "70"}}}, 10, 20, desk.party.membership.roster(),
               desk.party.outbox);
  CHECK(desk.log.changes().empty());
  SettingChange changed = sound, later = sound, unsigned_one = sound;
  changed.terms.front().second = "71";
  later.round = 21;
  unsigned_one.signature.clear();
  for (const SettingChange& forged : {changed, later, unsigned_one}) desk.hear({forged});
  CHECK(desk.log.changes().empty());
  CHECK(desk.party.outbox.notary().take_refusals() ==
        std::vector<std::string>{"operator", "signature", "signature", "unsigned"});
  desk.hear({sound});
  CHECK(desk.in(20) == 70);
}

TEST_CASE("A node that sees another log asks its owner until they are the same") {
  Desk desk;
  Member member = test::sample_member("node-2");
  member.changes = 7;
  desk.party.membership.receive(Time{}, {}, Gossip{{{member}}}, desk.party.outbox);
  std::size_t asked = 0;
  for (Time now{1s}; now < Time{4s}; now += 50ms) {
    desk.party.out.clear();
    desk.log.tick(now, desk.party.membership.roster(), desk.party.outbox);
    for (const Output& output : desk.party.out)
      if (const auto* send = std::get_if<Send>(&output))
        asked += std::holds_alternative<SettingChanges>(send->message.body);
    CHECK(desk.log.is_behind(now));
  }
  CHECK(asked >= 3);
  CHECK(asked <= 8);
  desk.hear({});
  CHECK_FALSE(desk.log.is_behind(Time{4s}));
}
