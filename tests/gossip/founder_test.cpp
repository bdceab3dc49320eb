// Founders: direct tests of Startup, of surveys, foundations and models that all begin with.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gossip/edges/links.h"
#include "tests/gossip/newcomer.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

TEST_CASE("Founders lay the foundation when they have the surveys of all and in their order") {
  Newcomer node(newcomer(3));
  node.meet("node-1", Phase::joining);
  node.meet("node-2", Phase::joining);
  node.go_on();
  node.trained("of node-9");
  node.go_on();
  CHECK(node.startup.reason() == "waiting for the data statistics of the other founders");
  node.hear_survey("node-2", "node-2", "of node-2");
  node.go_on();
  Newcomer::Done done = node.done();
  CHECK(done.surveys > 0);
  CHECK(done.jobs.size() == 1);  // that of the data
  node.hear_survey("node-1", "node-1", "of node-1");
  node.go_on();
  done = node.done();
  REQUIRE(done.jobs.size() == 1);
  REQUIRE(done.jobs.front().foundation);
  std::vector<std::string> expected;
  for (const Member* member : node.membership.roster().present())
    expected.push_back("of " + member->name);
  CHECK(*done.jobs.front().foundation == expected);
}

namespace {

// A founder of three that has learnt that it begins with the model of another one.
struct BorrowingFounder : Newcomer {
  BorrowingFounder() : Newcomer(newcomer(3)) {
    meet("node-1", Phase::joining);
    meet("node-2", Phase::joining);
    go_on();
    trained("of node-9");
    go_on();
    hear_survey("node-1", "node-1", "of node-1");
    hear_survey("node-2", "node-2", "of node-2");
    go_on();
    done();
    founded(true);
    go_on();
  }
  void founded(bool needs_model) {
    optim::Done done;
    done.workload.emplace().needs_model = needs_model;
    if (!needs_model) done.workload->late_survey = "common";
    startup.trained(now, done, outbox);
  }
};

}  // namespace

TEST_CASE("A founder that begins with the model of another one asks a founder that has it") {
  BorrowingFounder node;
  CHECK_FALSE(node.is_ready());
  CHECK(node.startup.reason() == "waiting for a founder with the parameters that all begin with");
  CHECK(node.done().donors.empty());
  node.set_ready("node-2");
  node.go_on();
  CHECK(node.done().donors == std::vector<std::string>{"10.0.1.2"});
  node.hear_snapshot("node-2", 0);
  REQUIRE(node.done().jobs.size() == 1);
  node.founded(false);
  CHECK(node.startup.is_founding());
  // A founder that comes late is told what all have begun with.
  node.meet("node-3", Phase::joining);
  node.out.clear();
  node.hear_survey("node-3", "node-3", "of node-3");
  const auto told = std::ranges::find_if(node.out, [](const Output& output) {
    const auto* send = std::get_if<Send>(&output);
    return send && std::holds_alternative<Surveys>(send->message.body);
  });
  REQUIRE(told != node.out.end());
  const auto& surveys = std::get<Surveys>(std::get<Send>(*told).message.body).surveys;
  const auto own = std::ranges::find(surveys, node_id("node-9"), &Survey::founder);
  REQUIRE(own != surveys.end());
  CHECK(own->statistics == "common");
}

TEST_CASE("Founders whose source is gone agree anew on what they were told since") {
  BorrowingFounder node;
  const Time began = node.now;
  while (node.now < began + 1min && node.done().surveys == 0) node.go_on();
  CHECK(node.now >= began + 10s);
  CHECK(node.now < began + 11s);
  node.hear_survey("node-1", "node-1", "of node-1");
  node.go_on();
  CHECK(node.done().jobs.empty());
  node.hear_survey("node-2", "node-2", "anew");
  node.go_on();
  const auto jobs = node.done().jobs;
  REQUIRE(jobs.size() == 1);
  REQUIRE(jobs.front().foundation);
  CHECK(std::ranges::count(*jobs.front().foundation, "anew") == 1);
}

TEST_CASE("A founder does not begin while a copy of its model is made") {
  Newcomer node(newcomer());
  node.go_on();
  node.trained();
  node.go_on();
  REQUIRE(node.startup.is_founding());
  node.membership.set_self({Phase::training, 0, 0});
  node.go_on();
  node.meet("node-1", Phase::joining);
  Donor donor;
  donor.asked(node.now, node_id("node-1"), node.membership.roster(), node.outbox);
  node.startup.want_snapshot(donor, node.outbox);
  CHECK(node.done().jobs.back().snapshot);
  const Links links(node.options);
  CHECK_FALSE(node.startup.may_begin(node.now + 1min, node.membership.roster(), links));
  node.startup.trained(node.now, {}, node.outbox);
  CHECK(node.startup.may_begin(node.now + 1min, node.membership.roster(), links));
}

TEST_CASE("A founder that waits for surveys asks a member that trains when one comes") {
  Newcomer node(newcomer(2));
  node.meet("node-1", Phase::joining);
  node.go_on();
  node.trained("own");
  node.go_on();
  REQUIRE(node.life.is_in<phases::Surveying>());
  node.done();
  node.meet("node-2", Phase::training, 5);
  node.go_on();
  CHECK(node.done().donors == std::vector<std::string>{"10.0.1.2"});
  CHECK(node.life.is_in<phases::Fetching>());
}

TEST_CASE("A founder whose donor comes back asks it after the copy of its own model is made") {
  Newcomer node(newcomer());
  node.meet("node-1", Phase::training, 5);
  node.go_on();
  node.trained();
  const Member donor = *node.membership.roster().find(node_id("node-1"));
  node.membership.receive(node.now, {}, Gossip{{{donor, Liveness::left}}}, node.outbox);
  node.tick_at(node.now + 1ms);
  REQUIRE(node.startup.is_founding());
  node.meet("node-2", Phase::joining);
  Donor copies;
  copies.asked(node.now, node_id("node-2"), node.membership.roster(), node.outbox);
  node.startup.want_snapshot(copies, node.outbox);
  node.meet("node-3", Phase::training, 6);
  const Links links(node.options);
  CHECK_FALSE(node.startup.may_begin(node.now, node.membership.roster(), links));
  CHECK(node.is_ready());
  node.startup.trained(node.now, {}, node.outbox);
  node.done();
  CHECK_FALSE(node.startup.may_begin(node.now, node.membership.roster(), links));
  node.go_on();
  CHECK(node.done().donors == std::vector<std::string>{"10.0.1.3"});
}

TEST_CASE("Founders that differ in an agreed key do not wait for each other nor share data") {
  Newcomer node(newcomer(3));
  node.meet("node-1", Phase::joining);
  node.meet("node-2", Phase::joining, 0, false);
  node.go_on();
  Newcomer::Done done = node.done();
  REQUIRE(done.jobs.size() == 1);
  CHECK(done.jobs.front().shard->members.size() == 2);
  node.trained("of node-9");
  node.go_on();
  CHECK(node.done().surveys == 1);
  node.hear_survey("node-1", "node-1", "of node-1");
  node.hear_survey("node-2", "node-2", "of node-2");
  node.go_on();
  done = node.done();
  REQUIRE(done.jobs.size() == 1);
  CHECK(*done.jobs.front().foundation == std::vector<std::string>{"of node-1", "of node-9"});
}

TEST_CASE("A newcomer asks a member that differs only when no member agrees") {
  for (const bool agrees : {true, false}) {
    Newcomer node(newcomer(4));
    node.meet("node-1", Phase::training, 5, false);
    node.meet("node-2", Phase::training, 5, agrees);
    node.meet("node-3", Phase::training, 5, false);
    node.go_on();
    const std::vector<std::string> asked = node.done().donors;
    REQUIRE(asked.size() == 1);
    if (agrees) CHECK(asked.front() == "10.0.1.2");
  }
}

TEST_CASE("Only its own node can change a survey") {
  Newcomer node(newcomer(3));
  node.meet("node-1", Phase::joining);
  node.meet("node-2", Phase::joining);
  node.go_on();
  node.trained("own");
  node.go_on();
  node.done();
  node.hear_survey("node-1", "node-2", "as node-1 relays it");
  node.hear_survey("node-1", "node-2", "a lie");
  node.hear_survey("node-1", "node-1", "first");
  node.hear_survey("node-1", "node-1", "second");
  node.go_on();
  const auto jobs = node.done().jobs;
  REQUIRE(jobs.size() == 1);
  const std::vector<std::string>& surveys = *jobs.front().foundation;
  CHECK(std::ranges::count(surveys, "as node-1 relays it") == 1);
  CHECK(std::ranges::count(surveys, "second") == 1);
}

namespace {

// The node has its own survey, and waits for that of node-1.
void survey_beside_another(Newcomer& node) {
  node.meet("node-1", Phase::joining);
  node.go_on();
  node.trained("own");
  node.go_on();
  node.done();
}

}  // namespace

TEST_CASE("A survey that does not come holds the foundation up for a minute") {
  Newcomer node(newcomer(2));
  survey_beside_another(node);
  const Time began = node.now;
  while (node.now < began + 1h && node.done().jobs.empty()) node.go_on();
  CHECK(node.now >= began + 1min);
  CHECK(node.now < began + 61s);
}

TEST_CASE("A founder whose data take half a minute to prepare founds the model with the others") {
  Newcomer node(newcomer(2));
  survey_beside_another(node);
  const Time began = node.now;
  while (node.now < began + 30s) node.go_on();
  CHECK(node.done().jobs.empty());
  node.hear_survey("node-1", "node-1", "late");
  node.go_on();
  const auto jobs = node.done().jobs;
  REQUIRE(jobs.size() == 1);
  CHECK(*jobs.front().foundation == std::vector<std::string>{"late", "own"});
}

TEST_CASE("Data that do not fit together are reported once and tried again") {
  Newcomer node(newcomer());
  node.go_on();
  node.trained("own");
  node.go_on();
  const auto told = [&] {
    return std::ranges::count_if(node.out, [](const Output& output) {
      const auto* event = std::get_if<Event>(&output);
      return event && event->kind == Event::Kind::problem;
    });
  };
  node.out.clear();
  node.trained("own", "columns differ");
  CHECK(told() == 1);
  CHECK(node.startup.reason() == "cannot train with these nodes: columns differ");
  CHECK(node.startup.warnings(node.now) == std::vector{node.startup.reason()});
  node.tick_at(node.now + 10s);
  CHECK(node.done().jobs.size() == 1);
  node.trained("own", "columns differ");
  CHECK(told() == 0);
  node.tick_at(node.now + 10s);
  node.trained();
  node.go_on();
  CHECK(node.is_ready());
}
