// From nothing to a model: direct tests of Startup, of members that are waited for and asked.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gossip/edges/links.h"
#include "tests/gossip/newcomer.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// Makes the node a founder beside another, with its data prepared.
void make_ready(Newcomer& node) {
  node.meet("node-1", Phase::joining);
  node.go_on();
  node.trained();
  node.go_on();
  node.membership.set_self({Phase::training, 0, 0});
  node.go_on();
}

}  // namespace

TEST_CASE("A node without seeds prepares its data at once and is ready") {
  Newcomer node(newcomer());
  node.go_on();
  const auto jobs = node.done().jobs;
  REQUIRE(jobs.size() == 1);
  REQUIRE(jobs.front().shard);
  CHECK(jobs.front().shard->members == std::vector{node.membership.roster().self()});
  CHECK(node.startup.deadline() == kNever);
  CHECK_FALSE(node.is_ready());
  node.trained();
  node.go_on();
  CHECK(node.is_ready());
  CHECK(node.startup.is_founding());
  CHECK(node.startup.round() == 0);
}

TEST_CASE("A seed that does not answer is waited for two seconds where nodes train alone") {
  Options options = newcomer();
  options.seeds = {{"10.0.1.1", 7600}};
  options.alone = Alone::train;
  Newcomer node(options);
  node.tick_at(Time(2s) - 1ms);
  CHECK(node.done().jobs.empty());
  CHECK(node.startup.reason() == "waiting for an answer from cluster.join");
  node.tick_at(Time(2s));
  CHECK(node.done().jobs.size() == 1);
}

TEST_CASE("A node that was told to join founds nothing before it has met somebody") {
  Options options = newcomer();
  options.seeds = {{"10.0.1.1", 7600}};
  Newcomer node(options);
  for (const Duration waited : {Duration(2s), Duration(1h)}) {
    node.tick_at(Time(waited));
    CHECK(node.done().jobs.empty());
    CHECK(node.startup.reason() == "waiting for an answer from cluster.join");
  }
  node.meet("node-1", Phase::joining);
  node.go_on();
  CHECK(node.done().jobs.size() == 1);
}

TEST_CASE("A node whose only seed is itself is a fleet of one") {
  Options options = newcomer();
  options.aliases = {{"10.0.2.1", 7600}};
  options.seeds = {options.control, options.aliases.front()};
  Newcomer node(options);
  node.go_on();
  CHECK(node.done().jobs.size() == 1);
}

TEST_CASE("A node that expects others founds nothing before one of them is there") {
  Newcomer node(newcomer(3));
  node.tick_at(Time(1h));
  CHECK(node.done().jobs.empty());
  CHECK(node.startup.reason() == "waiting for members: 1 of 3 expected");
}

TEST_CASE("Expected members that do not come are waited for once and named") {
  Newcomer node(newcomer(3));
  node.meet("node-1", Phase::joining);
  node.tick_at(Time{});
  node.tick_at(Time(10s) - 1ms);
  CHECK(node.done().jobs.empty());
  CHECK(node.startup.reason() == "waiting for members: 2 of 3 expected");
  CHECK(node.startup.warnings(node.now).size() == 1);
  node.tick_at(Time(10s));
  REQUIRE(node.done().jobs.size() == 1);
  node.trained();
  node.go_on();
  node.set_ready("node-1");
  node.membership.set_self({Phase::training, 0, 0});
  node.go_on();
  CHECK(node.startup.is_expected());
  const std::vector<std::string> told = node.startup.warnings(node.now);
  REQUIRE(told.size() == 1);
  CHECK(told.front().find("2 of 3 expected members came") == 0);
}

TEST_CASE("Founders wait for as long as it takes where their patience has no end") {
  Options options = newcomer(3);
  options.expect_patience = {};
  Newcomer node(options);
  node.meet("node-1", Phase::joining);
  node.tick_at(Time{});
  for (const Duration waited : {Duration(1min), Duration(100h)}) {
    node.tick_at(Time(waited));
    CHECK(node.done().jobs.empty());
    CHECK(node.startup.warnings(node.now) ==
          std::vector<std::string>{
              "2 of 3 expected members are here (cluster.expect); waiting for the rest for as long "
              "as it takes; cluster.expect = 2 at each of them begins without the rest"});
  }
  node.meet("node-2", Phase::joining);
  node.go_on();
  CHECK(node.done().jobs.size() == 1);
}

TEST_CASE("Where somebody has trained even an endless patience ends after ten seconds") {
  Options options = newcomer(4);
  options.expect_patience = {};
  Newcomer node(options);
  node.tick_at(Time(1h));
  node.meet("node-1", Phase::training, 5);
  node.tick_at(Time(1h));
  node.tick_at(Time(1h + 10s) - 1ms);
  CHECK(node.done().jobs.empty());
  node.tick_at(Time(1h + 10s));
  CHECK(node.done().donors == std::vector<std::string>{"10.0.1.1"});
}

TEST_CASE("A founder that is known and does not become ready is waited for ten seconds") {
  Options options = newcomer(2);
  options.expect_patience = {};
  Newcomer node(options);
  make_ready(node);
  CHECK_FALSE(node.startup.is_expected());
  node.tick_at(node.now + 10s);
  CHECK(node.startup.is_expected());
}

TEST_CASE("Founders that are ready wait for the expected ones to be ready") {
  Newcomer node(newcomer(2));
  make_ready(node);
  CHECK(node.is_ready());
  CHECK_FALSE(node.startup.is_expected());
  CHECK_FALSE(node.startup.may_begin(node.now, node.membership.roster(), node.links));
  node.set_ready("node-1");
  node.go_on();
  CHECK(node.startup.is_expected());
  CHECK(node.startup.may_begin(node.now, node.membership.roster(), node.links));
}

TEST_CASE("A founder that is ready says how many of the expected ones are there") {
  Newcomer node(newcomer(2));
  make_ready(node);
  CHECK(node.startup.reason() == "waiting for the other nodes to be ready");
  Member gone = *node.membership.roster().find(node_id("node-1"));
  ++gone.version;
  node.membership.receive(node.now, {}, Gossip{{{gone, Liveness::left, gone.id}}}, node.outbox);
  node.go_on();
  CHECK(node.startup.reason() == "waiting for members: 1 of 2 expected");
}

TEST_CASE("A newcomer asks a training member and goes on from its model") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.meet("node-2", Phase::joining);
  node.go_on();
  auto done = node.done();
  CHECK(done.jobs.size() == 1);
  CHECK(done.donors == std::vector<std::string>{"10.0.1.1"});
  CHECK(node.startup.donor() == node_id("node-1"));
  node.trained();
  CHECK_FALSE(node.is_ready());
  node.hear_snapshot("node-1", 6);
  done = node.done();
  REQUIRE(done.jobs.size() == 1);
  CHECK(done.jobs.front().adopt.has_value());
  CHECK_FALSE(node.startup.donor().has_value());
  node.trained();
  CHECK(node.is_ready());
  CHECK_FALSE(node.startup.is_founding());
  CHECK(node.startup.round() == 6);
}

TEST_CASE("A model that comes before the data are prepared is adopted too") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.go_on();
  node.done();
  node.hear_snapshot("node-1", 6);
  CHECK(node.done().jobs.size() == 1);
  node.trained();  // the answer to the job that assigned the data
  CHECK_FALSE(node.is_ready());
  node.trained();
  CHECK(node.is_ready());
  CHECK(node.startup.round() == 6);
}

TEST_CASE("A newcomer whose file is another does not adopt the model and says why") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.go_on();
  node.trained();
  node.hear_snapshot("node-1", 6);
  node.done();
  node.trained_strangely("the files differ");
  CHECK_FALSE(node.is_ready());
  CHECK(node.startup.warnings(node.now) ==
        std::vector<std::string>{"the model of node-1 does not fit this node: the files differ"});
  for (int k = 0; k < 20; ++k) {  // not alone either
    node.go_on();
    if (node.startup.donor()) node.hear_snapshot("node-1", 6);
    node.trained_strangely("the files differ");
    CHECK_FALSE(node.is_ready());
  }
}

TEST_CASE("A model is adopted only from a member that was asked and only once") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.meet("node-2", Phase::joining);
  node.go_on();
  node.trained();
  node.done();
  node.hear_snapshot("node-2", 6);
  CHECK(node.done().jobs.empty());
  node.hear_snapshot("node-1", 6);
  node.hear_snapshot("node-1", 7);
  CHECK(node.done().jobs.size() == 1);
}

TEST_CASE("A round of a model is believed up to twice that of its donor and a thousand") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.go_on();
  node.trained();
  node.hear_snapshot("node-1", 1'000'000);
  CHECK(node.startup.round() == 1010);
}

TEST_CASE("A false round in the members' table makes no false round of a model believed") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 50'000'000);
  node.go_on();  // asks the only donor it knows
  node.trained();
  node.meet("node-2", Phase::training, 40);
  node.meet("node-3", Phase::training, 30);
  node.hear_snapshot("node-1", 33'000'000);
  CHECK(node.startup.round() == 1080);
}

TEST_CASE("A donor that is silent or does not fit is given up for another") {
  for (const bool is_silent : {true, false}) {
    CAPTURE(is_silent);
    Newcomer node(newcomer());
    node.meet("node-1", Phase::training, 5);
    node.meet("node-2", Phase::training, 5);
    node.go_on();
    node.trained();
    const std::vector<std::string> first = node.done().donors;
    REQUIRE(first.size() == 1);
    if (!is_silent) {
      node.hear_snapshot(first.front() == "10.0.1.1" ? "node-1" : "node-2", 6);
      node.trained({}, "it has other features");
      CHECK(node.startup.round() == 0);
      CHECK(node.startup.warnings(node.now).front().find("does not fit") != std::string::npos);
      node.done();
    }
    node.go_on();
    const std::vector<std::string> second = node.done().donors;
    REQUIRE(second.size() == 1);
    CHECK(second != first);
  }
}

TEST_CASE("A donor that sends chunks is waited for") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.go_on();
  node.trained();
  const Time before = node.startup.deadline();
  node.startup.search().hears_chunk(node.now + 900ms);
  CHECK(node.startup.deadline() == node.now + 2900ms);
  CHECK(node.startup.deadline() > before);
}

TEST_CASE("A newcomer that gets no model asks eight times and then begins alone") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.go_on();
  node.trained();
  std::size_t asked = node.done().donors.size();
  Duration patience{};
  for (int k = 0; k < 20 && !node.is_ready(); ++k) {
    const Duration next = node.startup.deadline() - node.now;
    CHECK(next >= patience);
    patience = next;
    node.go_on();
    asked += node.done().donors.size();
  }
  CHECK(asked == 8);
  CHECK(node.is_ready());
  CHECK(node.startup.round() == 0);
}

TEST_CASE("A donor that is gone is not waited for") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.go_on();
  node.trained();
  node.done();
  node.membership.receive(
      node.now, {}, Gossip{{{*node.membership.roster().find(node_id("node-1")), Liveness::left}}},
      node.outbox);
  node.tick_at(node.now + 1ms);
  CHECK(node.is_ready());
}
