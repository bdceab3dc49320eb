// From nothing to a model: direct tests of Startup, its trainer answered by hand.
#include "gossip/node/startup.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "gossip/edges/links.h"
#include "gossip/members/terms.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

struct Newcomer : Party {
  explicit Newcomer(const Options& given) : Party(given), startup(options, Time{}) {}

  // A member that agrees, unless it is to differ.
  void meet(const std::string& name, Phase phase, std::uint64_t round = 0, bool agrees = true) {
    Member member = sample_member(name);
    member.agreement = agreement_of(agreed(options)) + (agrees ? 0 : 1);
    member.phase = phase;
    member.round = round;
    member.control.host = "10.0.1." + name.substr(name.find('-') + 1);
    membership.receive(now, {}, Gossip{{{member}}}, outbox);
    said();
  }
  void set_ready(const std::string& name) {
    Member ready = *membership.roster().find(node_id(name));
    ++ready.version;
    ready.phase = Phase::training;
    membership.receive(now, {}, Gossip{{{ready}}}, outbox);
  }
  void tick_at(Time time) {
    now = time;
    startup.tick(now, membership, outbox);
  }
  // To the next deadline.
  void go_on() { tick_at(std::max(now, startup.deadline())); }
  void trained(std::string survey = {}, std::optional<std::string> problem = {}) {
    optim::Done done;
    done.workload.emplace().survey = std::move(survey);
    done.problem = std::move(problem);
    startup.trained(now, done, outbox);
  }
  void hear_snapshot(const std::string& from, std::uint64_t round) {
    const std::string model = "model";
    startup.receive(Snapshot{.round = round, .foundation = {}},
                    Payload::copy_of(std::as_bytes(std::span(model))),
                    Envelope{.sender = node_id(from)}, membership.roster(), outbox);
  }
  void hear_survey(const std::string& from, const std::string& of, const std::string& text) {
    startup.receive(Surveys{{}, {{node_id(of), text}}}, Envelope{.sender = node_id(from)},
                    membership.roster(), outbox);
  }
  // What was said and asked since the last call.
  struct Done {
    std::vector<optim::Job> jobs;
    std::vector<std::string> donors;  // by the host that was asked
    std::size_t surveys = 0;
  };
  Done done() {
    Done done;
    for (const Output& output : std::exchange(out, {})) {
      if (const auto* train = std::get_if<Train>(&output)) done.jobs.push_back(train->job);
      const auto* send = std::get_if<Send>(&output);
      if (send && std::holds_alternative<SnapshotRequest>(send->message.body))
        done.donors.push_back(send->to.host);
      done.surveys += send && std::holds_alternative<Surveys>(send->message.body);
    }
    return done;
  }

  Time now{};
  Startup startup;
};

Options newcomer(std::size_t expect = 0) {
  Options options = party_options(9);
  options.expect = expect;
  return options;
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
  CHECK_FALSE(node.startup.is_ready());
  node.trained();
  node.go_on();
  CHECK(node.startup.is_ready());
  CHECK(node.startup.is_founding());
  CHECK(node.startup.round() == 0);
}

TEST_CASE("A seed that does not answer is waited for two seconds") {
  Options options = newcomer();
  options.seeds = {{"10.0.1.1", 7600}};
  Newcomer node(options);
  node.tick_at(Time(2s) - 1ms);
  CHECK(node.done().jobs.empty());
  CHECK(node.startup.reason() == "waiting for an answer from cluster.join");
  node.tick_at(Time(2s));
  CHECK(node.done().jobs.size() == 1);
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

TEST_CASE("Founders that are ready wait for the expected ones to be ready") {
  Newcomer node(newcomer(2));
  node.meet("node-1", Phase::joining);
  node.go_on();
  node.trained();
  node.go_on();
  node.membership.set_self({Phase::training, 0, 0});
  node.go_on();
  CHECK(node.startup.is_ready());
  CHECK_FALSE(node.startup.is_expected());
  node.startup.begin(node.now, node.membership.roster(), node.links);
  CHECK_FALSE(node.startup.done());
  node.set_ready("node-1");
  node.go_on();
  CHECK(node.startup.is_expected());
  node.startup.begin(node.now, node.membership.roster(), node.links);
  CHECK(node.startup.done());
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
  CHECK_FALSE(node.startup.is_ready());
  node.hear_snapshot("node-1", 6);
  done = node.done();
  REQUIRE(done.jobs.size() == 1);
  CHECK(done.jobs.front().adopt.has_value());
  CHECK_FALSE(node.startup.donor().has_value());
  node.trained();
  CHECK(node.startup.is_ready());
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
  CHECK_FALSE(node.startup.is_ready());
  node.trained();
  CHECK(node.startup.is_ready());
  CHECK(node.startup.round() == 6);
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
  node.startup.hears_chunk(node.now + 900ms);
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
  for (int k = 0; k < 20 && !node.startup.is_ready(); ++k) {
    const Duration next = node.startup.deadline() - node.now;
    CHECK(next >= patience);
    patience = next;
    node.go_on();
    asked += node.done().donors.size();
  }
  CHECK(asked == 8);
  CHECK(node.startup.is_ready());
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
  CHECK(node.startup.is_ready());
}

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

TEST_CASE("A founder that begins with the model of another one asks whoever has it") {
  BorrowingFounder node;
  CHECK_FALSE(node.startup.is_ready());
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
  CHECK(std::ranges::count(surveys, std::pair(node_id("node-9"), std::string("common"))) == 1);
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
  node.startup.begin(node.now + 1min, node.membership.roster(), links);
  CHECK_FALSE(node.startup.done());
  node.startup.trained(node.now, {}, node.outbox);
  node.startup.begin(node.now + 1min, node.membership.roster(), links);
  CHECK(node.startup.done());
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

TEST_CASE("A survey that does not come holds the foundation up for ten seconds") {
  Newcomer node(newcomer(2));
  node.meet("node-1", Phase::joining);
  node.go_on();
  node.trained("own");
  node.go_on();
  node.done();
  const Time began = node.now;
  while (node.now < began + 1min && node.done().jobs.empty()) node.go_on();
  CHECK(node.now >= began + 10s);
  CHECK(node.now < began + 11s);
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
  CHECK(node.startup.is_ready());
}
