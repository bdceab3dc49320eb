// Members that nobody can dial: others hear of them and find them dead over the connections that
// they open.
#include <doctest/doctest.h>

#include "tests/gossip/crowd.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

std::string name_of(std::size_t index) {
  return fmt::format("node-{}", index);
}

// Whether all that run see all that run alive, and those of `dead` dead.
bool all_see(Cluster& table, const std::set<std::size_t>& dead = {}) {
  for (std::size_t k = 0; k < table.parties.size(); ++k)
    for (std::size_t of = 0; of < table.parties.size() && table.parties[k]; ++of) {
      if (!table.parties[k]->lists(table.now, name_of(of))) return false;
      const Liveness seen = table.seen(k, name_of(of));
      if (dead.contains(of) ? seen != Liveness::dead : seen != Liveness::alive) return false;
    }
  return true;
}

Options hidden_options(int index, std::uint64_t incarnation) {
  Options options = party_options(index, incarnation);
  hide(options);
  return options;
}

// Seconds until it is so; at most `limit`.
double takes(Cluster& table, const std::set<std::size_t>& dead, Duration limit) {
  const Time begin = table.now;
  while (!all_see(table, dead) && table.now - begin < limit) table.run(50ms);
  return seconds(table.now - begin);
}

}  // namespace

TEST_CASE("Members that nobody can dial are known to all and suspected by nobody") {
  for (const int hidden : {1, 2, 12, 15}) {
    CAPTURE(hidden);
    Cluster table(16, false, hidden);
    CHECK(takes(table, {}, 10s) < 3);
    table.run(30s);
    CHECK(all_see(table));
    for (std::size_t k = 0; k < 16; ++k)
      CHECK(table.parties[k]->membership.roster().departures() == 0);
    CHECK(table.vain_probes == 0);
  }
}

TEST_CASE("Nodes send nothing to members that neither end can dial") {
  Cluster table(16, false, 12);
  table.run(5s);
  const std::size_t before = table.lost_to_hidden;
  table.run(30s);
  CHECK(table.lost_to_hidden == before);
}

TEST_CASE("A member that nobody can dial is found dead and comes back by itself") {
  Cluster table(16, false, 12);
  table.run(5s);
  table.parties[15].reset();
  std::erase_if(table.dialled, [](const auto& pair) { return pair.first == 15; });
  CHECK(takes(table, {15}, 20s) < 10);
  Options options = hidden_options(15, 2);
  options.seeds = {party_options(0).control};
  table.parties[15] = std::make_unique<Party>(options, table.now);
  CHECK(takes(table, {}, 20s) < 6);
}

TEST_CASE("Without a member that can be dialled nobody finds the others dead") {
  Cluster table(6, false, 5);
  table.run(5s);
  table.parties[0].reset();
  table.dialled.clear();
  table.run(60s);
  for (std::size_t k = 1; k < 6; ++k) {
    CHECK(table.seen(k, name_of(0)) == Liveness::dead);
    for (std::size_t of = 1; of < 6; ++of) CHECK(table.seen(k, name_of(of)) == Liveness::alive);
  }
  table.parties[0] = std::make_unique<Party>(party_options(0, 2), table.now);
  CHECK(takes(table, {}, 20s) < 10);
}

TEST_CASE("A node that nobody can dial and that restarts with its mark is not its own namesake") {
  Cluster table(6, false, 4);
  table.run(5s);
  Options options = hidden_options(5, 2);
  options.seeds = {party_options(0).control};
  table.parties[5] = std::make_unique<Party>(options, table.now);
  std::erase_if(table.dialled, [](const auto& pair) { return pair.first == 5; });
  table.run(500ms);
  CHECK_FALSE(table.parties[5]->membership.identity().namesake());
  CHECK(table.parties[0]->membership.roster().incarnation_of(node_id("node-5")) == 2);
}

TEST_CASE("A second node of one name that nobody can dial waits until the first is dead") {
  Cluster table(6, false, 4);
  table.run(5s);
  Options options = hidden_options(9, 2);
  options.name = name_of(5);
  options.seeds = {party_options(0).control};
  table.parties.push_back(std::make_unique<Party>(options, table.now));
  const auto incarnation = [&] {
    return table.parties[0]->membership.roster().incarnation_of(node_id("node-5"));
  };
  table.run(20s);
  CHECK(incarnation() == 1);
  table.parties[5].reset();
  table.run(20s);
  CHECK(incarnation() == 2);
}

// The helpers of the stopped member reach the new node alone; their answers have its record.
TEST_CASE("A hidden member that was stopped while another took a dead one's name learns of that") {
  Cluster table(6, false, 4);
  table.run(5s);
  table.stopped = 4;
  table.parties[5].reset();
  std::erase_if(table.dialled, [](const auto& pair) { return pair.first == 5; });
  Options options = hidden_options(9, 2);
  options.name = name_of(5);
  options.seeds = {party_options(0).control};
  table.parties[5] = std::make_unique<Party>(options, table.now);
  table.run(30s);
  const auto incarnation = [&](std::size_t of) {
    return table.parties[of]->membership.roster().incarnation_of(node_id("node-5"));
  };
  CHECK(incarnation(0) == 2);
  table.stopped.reset();
  table.run(30s);
  CHECK(incarnation(4) == 2);
}
