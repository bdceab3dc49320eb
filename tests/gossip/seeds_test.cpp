#include "gossip/members/seeds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/gossip/crowd.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

const SeedName kName("nodes.example", 7600, SeedName::Kind::hosts);
const Endpoint kOwn{"10.0.0.1", 7600};

Endpoint place(int index) {
  return {fmt::format("10.0.{}.{}", 1 + index / 200, 1 + index % 200), 7600};
}

std::vector<Endpoint> places(int count) {
  std::vector<Endpoint> all;
  for (int k = 0; k < count; ++k) all.push_back(place(k));
  return all;
}

Member own_record() {
  Member member;
  member.name = "own";
  member.id = node_id(member.name);
  member.control = member.http = kOwn;
  member.incarnation = 1;
  return member;
}

// Seeds, what they ask for, and who is known.
struct Search {
  explicit Search(std::vector<Endpoint> aliases = {}) : seeds(kOwn, std::move(aliases), 100ms) {
    outbox.begin(out);
    seeds.add(kName, true, now);
  }
  // What is asked from now on, in steps as the membership takes them.
  void run(Duration duration) {
    asked.clear();
    lookups.clear();
    for (const Time end = now + duration; now < end; now += 500ms) {
      seeds.ask(
          now,
          {[this](const Endpoint& at) { return known.contains(to_string(at)); }, known.empty()},
          own_record(), outbox);
      for (const Output& output : std::exchange(out, {})) {
        if (const auto* introduce = std::get_if<Introduce>(&output))
          asked.push_back(to_string(introduce->to));
        if (std::holds_alternative<LookUp>(output)) lookups.push_back(seconds(now - Time{}));
        if (const auto* abandon = std::get_if<Abandon>(&output))
          left.push_back(to_string(abandon->at));
      }
      if (answers && !lookups.empty() && lookups.back() == seconds(now - Time{}))
        seeds.resolved(now, kName, *answers);
    }
  }
  std::string reason() const {
    const auto reasons = seeds.reasons(now, !known.empty());
    return reasons.empty() ? "" : reasons.front();
  }

  Time now{};
  Outputs out;
  Outbox outbox{1, node_id("a"), 1};
  Seeds seeds;
  std::set<std::string> known;
  std::optional<std::vector<Endpoint>> answers;  // of each look-up, at once
  std::vector<std::string> asked, left;
  std::vector<double> lookups;
};

}  // namespace

TEST_CASE("Each address of a name is asked and its own address is not") {
  Search search({{"192.168.0.1", 7600}});
  search.answers = {place(0), kOwn, place(1), {"192.168.0.1", 7600}, place(0), {"10.0.1.9", 0}};
  search.run(1s);
  CHECK(search.asked == std::vector<std::string>{to_string(place(0)), to_string(place(1))});
  CHECK(search.reason().empty());
}

TEST_CASE("A node that is alone looks a name up again within five seconds") {
  Search search;
  search.run(500ms);
  CHECK(search.lookups == std::vector<double>{0});
  search.run(20s);
  CHECK(search.lookups.empty());  // one at a time: the first is not answered
  search.seeds.unresolved(search.now, kName, "the name servers do not know \"nodes.example\" yet");
  search.run(60s);
  REQUIRE(search.lookups.size() == 1);
  search.answers.emplace();  // no address
  search.seeds.resolved(search.now, kName, {});
  search.run(60s);
  CHECK(search.lookups.size() >= 11);
  CHECK(search.lookups.size() <= 16);
  for (std::size_t k = 1; k < search.lookups.size(); ++k)
    CHECK(search.lookups[k] - search.lookups[k - 1] <= 5.5);
}

TEST_CASE("A look-up that is never answered is asked for again after a minute") {
  Search search;
  search.run(59s);
  CHECK(search.lookups.size() == 1);
  search.run(2s);
  CHECK(search.lookups.size() == 1);
}

TEST_CASE("A name that appears late is asked as soon as it is there") {
  Search search;
  search.run(500ms);
  search.seeds.unresolved(search.now, kName, "the name servers do not know \"nodes.example\" yet");
  CHECK(search.reason() ==
        "cluster.join = \"dns:nodes.example:7600\": the name servers do not know "
        "\"nodes.example\" yet");
  CHECK_FALSE(search.seeds.is_awaited([](const Endpoint&) { return false; }));
  search.answers = {place(0)};
  search.run(2s);
  CHECK(std::ranges::count(search.asked, to_string(place(0))) >= 1);
  search.known = {to_string(place(0))};
  search.run(500ms);
  CHECK(search.reason().empty());
}

TEST_CASE("An address that a name has no more is not asked") {
  Search search;
  search.answers = places(2);
  search.run(2s);
  search.answers = {place(1), place(2)};
  search.run(10s);
  CHECK(search.left == std::vector<std::string>{to_string(place(0))});
  search.run(10s);
  CHECK(std::ranges::count(search.asked, to_string(place(0))) == 0);
  CHECK(std::ranges::count(search.asked, to_string(place(1))) >= 1);
  CHECK(std::ranges::count(search.asked, to_string(place(2))) >= 1);
}

TEST_CASE("A name server that fails takes no address away") {
  Search search;
  search.answers = places(1);
  search.run(2s);
  search.answers.reset();
  search.seeds.unresolved(search.now, kName, "no name server answers for \"nodes.example\"");
  search.run(10s);
  CHECK(std::ranges::count(search.asked, to_string(place(0))) >= 1);
}

TEST_CASE("A name of many addresses costs a node with members four joins in thirty seconds") {
  Search search;
  search.answers = places(20);
  search.run(1s);
  CHECK(std::set(search.asked.begin(), search.asked.end()).size() == 20);
  search.known = {"10.9.9.9:7600"};  // by another address than those of the DNS
  search.run(2s);
  search.run(150s);
  CHECK(search.lookups.size() == 5);
  CHECK(search.asked.size() == 20);
  // In turn: members of another part of the cluster are found whichever they are.
  CHECK(std::set(search.asked.begin(), search.asked.end()).size() == 20);
}

TEST_CASE("Members at the addresses of a name are not asked") {
  Search search;
  search.answers = places(6);
  for (int k = 0; k < 5; ++k) search.known.insert(to_string(place(k)));
  search.run(60s);
  CHECK(std::set(search.asked.begin(), search.asked.end()) ==
        std::set<std::string>{to_string(place(5))});
}

TEST_CASE("A name stands for a limited number of addresses and a node has a limited number") {
  Search search;
  search.answers = places(1000);
  search.run(500ms);
  search.run(500ms);
  CHECK(search.asked.size() == kSeedAddressesLimit);
  for (int k = 0; k < 100; ++k)
    search.seeds.add({fmt::format("n{}.example", k), 7600, SeedName::Kind::hosts}, true,
                     search.now);
  search.answers.reset();
  search.run(500ms);
  CHECK(search.lookups.size() == kSeedNamesLimit);
}

TEST_CASE("What is wrong with a name is told in one line") {
  Search search;
  CHECK(search.reason().empty());
  search.run(3s);
  CHECK(search.reason() ==
        "cluster.join = \"dns:nodes.example:7600\": the name is looked up, and no name server "
        "answers");
  search.seeds.resolved(search.now, kName, {});
  CHECK(search.reason().find("stands for no address") != std::string::npos);
  search.seeds.resolved(search.now, kName, {kOwn});  // the first of a cluster
  CHECK(search.reason().empty());
  search.seeds.resolved(search.now, kName, {kOwn, place(0), place(1)});
  search.seeds.refused(place(0));
  CHECK(search.reason() ==
        "cluster.join = \"dns:nodes.example:7600\": no member at its 2 addresses; "
        "10.0.1.1:7600: nobody listens there");
  search.known = {"10.9.9.9:7600"};
  CHECK(search.reason().empty());
  search.known.clear();
  search.seeds.has_told(place(1));  // it has warnings of its own
  CHECK(search.reason().empty());
}

TEST_CASE("A firewall that shuts UDP or TCP is named with the port") {
  Search search;
  search.seeds.resolved(search.now, kName, {place(0)});
  search.run(3s);
  search.seeds.asked_for_key(place(0), false);
  CHECK(search.reason().ends_with(
      "10.0.1.1:7600: no answer by UDP to the question for its key: open UDP port 7600 there, or "
      "name the key, 10.0.1.1:7600#KEY"));
  search.seeds.asked_for_key(place(0), true);
  CHECK(search.reason().find("UDP") == std::string::npos);
  search.seeds.unanswered(place(0));
  CHECK(
      search.reason().ends_with("a node answers there by UDP and not by TCP: open TCP port 7600"));
  search.seeds.asked_for_key(place(0), false);
  search.seeds.unanswered(place(0));
  CHECK(search.reason().ends_with("10.0.1.1:7600: the host does not answer"));
}

TEST_CASE("A name is awaited until it is looked up and its addresses are settled") {
  const auto nobody = [](const Endpoint&) { return false; };
  Search search;
  CHECK(search.seeds.is_awaited(nobody));
  search.seeds.resolved(search.now, kName, {kOwn});
  CHECK_FALSE(search.seeds.is_awaited(nobody));
  search.seeds.resolved(search.now, kName, {kOwn, place(0)});
  CHECK(search.seeds.is_awaited(nobody));
  CHECK_FALSE(search.seeds.is_awaited([](const Endpoint& at) { return at == place(0); }));
  search.seeds.refused(place(0));
  CHECK_FALSE(search.seeds.is_awaited(nobody));
}

TEST_CASE("A host whose address changes is asked at once and met at the new one") {
  Search search;
  const SeedName host("node-1.example", 7600);
  search.seeds.add(host, true, search.now);
  CHECK(search.seeds.resolved(search.now, host, {place(3)}));
  CHECK_FALSE(search.seeds.resolved(search.now, host, {place(3)}));
  CHECK_FALSE(search.seeds.resolved(search.now, host, {}));
  search.run(500ms);
  CHECK(search.asked.size() == 1);
  CHECK(search.seeds.resolved(search.now, host, {place(4)}));
  search.known = {to_string(place(4))};
  search.run(10s);
  CHECK(search.asked.empty());
}

namespace {

// Answers the look-ups of the members with the addresses of those that are there.
void answer_look_ups(Cluster& table, const std::vector<std::size_t>& listed) {
  std::vector<Endpoint> addresses;
  for (const std::size_t k : listed) addresses.push_back(table.parties[k]->options.control);
  for (auto& party : table.parties)
    if (party) party->membership.resolved(table.now, {kName, addresses}, party->outbox);
}

std::size_t known_to(const Cluster& table, std::size_t k) {
  return table.parties[k]->membership.roster().present().size();
}

Cluster named_cluster(int size) {
  Cluster table(0);
  for (int k = 0; k < size; ++k) {
    Options options = party_options(k);
    options.seeds = {kName};
    table.parties.push_back(std::make_unique<Party>(options));
  }
  return table;
}

}  // namespace

TEST_CASE("Nodes that know one name and nothing else come to know each other") {
  Cluster table = named_cluster(6);
  table.run(1s);
  for (std::size_t k = 0; k < 6; ++k) CHECK(known_to(table, k) == 1);
  answer_look_ups(table, {0, 1, 2, 3, 4, 5});
  table.run(2s);
  for (std::size_t k = 0; k < 6; ++k) CHECK(known_to(table, k) == 6);
}

TEST_CASE("Parts of a cluster that began apart find each other by the name") {
  Cluster table = named_cluster(6);
  table.run(500ms);
  for (std::size_t k = 0; k < 6; ++k) {
    const std::vector<Endpoint> own_part{party_options(k < 3 ? 0 : 3).control};
    table.parties[k]->membership.resolved(table.now, {kName, own_part}, table.parties[k]->outbox);
  }
  table.run(2s);
  for (std::size_t k = 0; k < 6; ++k) CHECK(known_to(table, k) == 3);
  answer_look_ups(table, {0, 1, 2, 3, 4, 5});
  table.run(3s);
  for (std::size_t k = 0; k < 6; ++k) CHECK(known_to(table, k) == 6);
}
