// The one verb of a node: direct tests of step, deadline and status.
#include "gossip/node/node.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/prng.h"
#include "optim/saved_state.h"
#include "tests/gossip/few_nodes.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// A message as it comes from outside; keeps the bytes.
struct Mail {
  Mail(const std::string& sender, Body body, const std::string& cluster = "starling",
       std::uint64_t sequence = 1, std::uint64_t incarnation = 1)
      : from(node_id(sender)),
        plane(kind_of(body).plane),
        frame(Cutter()
                  .cut({{stable_hash(cluster), node_id(sender), incarnation, sequence},
                        std::move(body),
                        {}})
                  .next()) {}
  Received received() const {
    return {plane, from, std::as_bytes(std::span(frame.header)), frame.payload};
  }

  NodeId from;
  Plane plane;
  Frame frame;
};

struct One {
  explicit One(const Options& given = party_options(1)) : node(given, Time{}) {}

  Outputs step(Input input) {
    Outputs out;
    node.step(now, std::move(input), out);
    return out;
  }

  Time now{};
  Node node;
};

template <class What>
std::vector<What> all(const Outputs& outputs) {
  std::vector<What> found;
  for (const Output& output : outputs)
    if (const auto* what = std::get_if<What>(&output)) found.push_back(*what);
  return found;
}

// To nodes and to strangers, in order.
std::vector<Message> messages(const Outputs& outputs) {
  std::vector<Message> found;
  for (const Output& output : outputs) {
    if (const auto* send = std::get_if<Send>(&output)) found.push_back(send->message);
    if (const auto* stray = std::get_if<Introduce>(&output)) found.push_back(stray->message);
  }
  return found;
}

Member neighbor() {
  Member member = sample_member("node-2");
  member.incarnation = 1;
  return member;
}

}  // namespace

TEST_CASE("A message of another cluster is refused and counted and changes no member") {
  One one;
  one.step(Tick{});
  one.step(Mail("node-2", Gossip{{{neighbor()}}}, "another").received());
  const Status status = one.node.status(one.now);
  CHECK(status.rejected.at("cluster") == 1);
  CHECK(status.rejected_kinds.at("cluster").at("gossip") == 1);
  CHECK(status.members.size() == 1);
}

TEST_CASE("Bytes that are no message are counted and answered by nothing") {
  One one;
  one.step(Tick{});
  Prng prng(1);
  for (std::uint64_t k = 1; k <= 200; ++k) {
    std::string bytes(prng.below(64), '\0');
    for (char& byte : bytes) byte = static_cast<char>(prng.below(256));
    const auto plane = prng.chance(0.5) ? Plane::control : Plane::bulk;
    CHECK(
        one.step(Received{plane, node_id("node-2"), std::as_bytes(std::span(bytes)), {}}).empty());
  }
  std::uint64_t refused = 0;
  for (const auto& [reason, count] : one.node.status(one.now).rejected) refused += count;
  CHECK(refused == 200);
}

TEST_CASE("A message of the bulk plane is not heard on the other") {
  One one;
  one.step(Tick{});
  const Mail mail("node-2", Gossip{{{neighbor()}}});
  CHECK(one.step(Received{Plane::bulk, mail.from, mail.received().header, {}}).empty());
  CHECK(one.node.status(one.now).rejected.at("plane") == 1);
}

TEST_CASE("A message that came before is refused and changes nothing") {
  One one;
  one.step(Tick{});
  const Mail mail("node-2", Join{neighbor()});
  CHECK(all<Event>(one.step(mail.received())).size() == 1);
  CHECK(one.node.status(one.now).members.size() == 2);
  CHECK(one.step(mail.received()).empty());
  CHECK(one.node.status(one.now).rejected.at("repeated") == 1);
}

TEST_CASE("A tick before the deadline does nothing") {
  One one;
  one.step(Tick{});
  for (int k = 0; k < 100; ++k) {
    CHECK(one.step(Tick{}).empty());
    const Time deadline = one.node.deadline();
    if (deadline == kNever) break;
    REQUIRE(deadline >= one.now);
    one.now = std::max(one.now, deadline - 1ns);
    if (one.now < deadline) CHECK(one.step(Tick{}).empty());
    one.now = deadline;
    one.step(Tick{});
  }
}

TEST_CASE("After a tick the deadline lies ahead whatever has happened") {
  std::uint64_t steps = 0, behind = 0;
  FewNodes* all_nodes = nullptr;
  FewNodes nodes({.saw_output = [](const std::string&, const Output&, const std::string&) {},
                  .stepped =
                      [&](const std::string& name) {
                        ++steps;
                        behind += all_nodes->find(name)->deadline() < all_nodes->now();
                      }});
  all_nodes = &nodes;
  const auto start = [&](const std::string& name, std::uint64_t incarnation) {
    Options options = party_options(1, incarnation);
    if (name != "node-1") options.seeds = {FewNodes::control_of("node-1")};
    nodes.start(name, options, {});
  };
  for (const std::string name : {"node-1", "node-2", "node-3"}) start(name, 1);
  nodes.run(3s);
  nodes.cut("node-1", "node-2");
  nodes.hold("node-1", "node-3", 2s);
  nodes.run(12s);
  nodes.heal();
  nodes.kill("node-2");
  nodes.run(5s);
  start("node-2", 2);
  nodes.run(3s);
  nodes.step("node-3", LeaveCommand{});
  nodes.run(5s);
  CHECK(steps > 1000);
  CHECK(behind == 0);
}

TEST_CASE("Every message has the envelope of its node and a number of its own") {
  Options options = party_options(1, 7);
  options.seeds = {{"10.0.0.2", 7600}};
  One one(options);
  std::uint64_t sequence = 0;
  for (; one.now < Time(10s); one.now += 50ms)
    for (const Message& message : messages(one.step(Tick{}))) {
      CHECK(message.envelope.cluster == stable_hash("starling"));
      CHECK(message.envelope.sender == node_id("node-1"));
      CHECK(message.envelope.incarnation == 7);
      CHECK(message.envelope.sequence > sequence);
      sequence = message.envelope.sequence;
    }
  CHECK(sequence > 3);
}

TEST_CASE("The same inputs give the same outputs byte for byte") {
  const auto play = [] {
    Options options = party_options(1);
    options.seeds = {{"10.0.0.2", 7600}};
    One one(options);
    std::string said;
    for (std::uint64_t k = 1; one.now < Time(20s); one.now += 50ms, ++k) {
      const Mail mail("node-2", Gossip{{{neighbor()}}}, "starling", k);
      for (const Message& message :
           messages(k % 7 == 0 ? one.step(mail.received()) : one.step(Tick{})))
        said += Cutter().cut(message).next().header;
    }
    return said;
  };
  const std::string once = play();
  CHECK(once.size() > 1000);
  CHECK(play() == once);
}

TEST_CASE("A node that leaves tells its members and stops and does nothing after that") {
  One one;
  one.step(Tick{});
  one.step(Mail("node-2", Join{neighbor()}).received());
  Outputs outputs = one.step(LeaveCommand{});
  REQUIRE(all<Stopped>(outputs).size() == 1);
  CHECK(all<Stopped>(outputs).front().error.empty());
  const std::vector<Send> sends = all<Send>(outputs);
  CHECK(std::ranges::any_of(sends, [](const Send& send) {
    const auto* gossip = std::get_if<Gossip>(&send.message.body);
    return gossip && std::ranges::any_of(gossip->rumors, [](const Rumor& rumor) {
             return rumor.member->name == "node-1" && rumor.liveness == Liveness::left;
           });
  }));
  one.now += 10s;
  CHECK(one.node.deadline() == kNever);
  CHECK(one.step(Tick{}).empty());
  CHECK(one.step(Mail("node-2", Join{neighbor()}, "starling", 2).received()).empty());
  CHECK(one.step(LeaveCommand{}).empty());
}

TEST_CASE("A node whose trainer does not answer leaves all the same") {
  One one;
  one.step(Tick{});
  optim::Done prepared;
  prepared.workload.emplace().schema_hash = 1;
  one.step(Trained{prepared});
  one.now += 1s;
  one.step(Tick{});
  one.now += 1s;
  one.step(Tick{});
  REQUIRE(one.node.status(one.now).state == State::training);
  const Time asked = one.now;
  CHECK(all<Stopped>(one.step(LeaveCommand{})).empty());
  CHECK(one.node.status(one.now).state == State::leaving);
  bool has_stopped = false;
  while (!has_stopped && one.now < asked + 10s) {
    one.now = one.node.deadline();
    has_stopped = !all<Stopped>(one.step(Tick{})).empty();
  }
  CHECK(one.now == asked + 3s);
}

TEST_CASE("A node that leaves does not wait for the steps of the job that copies its state") {
  Options options = party_options(1);
  options.checkpoint = {.rounds = 1, .is_kept = true};
  One one(options);
  one.step(Tick{});
  optim::Done prepared;
  prepared.workload.emplace().schema_hash = 1;
  one.step(Trained{prepared});
  std::vector<optim::Job> jobs;
  for (int k = 0; k < 20 && (jobs.empty() || !jobs.back().save); ++k) {
    one.now += 200ms;
    for (Train& train : all<Train>(one.step(Tick{}))) jobs.push_back(std::move(train.job));
    if (jobs.empty() || jobs.back().save) continue;
    optim::Done done;
    done.round = jobs.back().round;
    done.is_offer = true;
    for (Train& train : all<Train>(one.step(Trained{done}))) jobs.push_back(std::move(train.job));
  }
  REQUIRE(!jobs.empty());
  REQUIRE((jobs.back().save && jobs.back().local));
  const Time asked = one.now;
  one.step(LeaveCommand{});
  std::size_t cut = 0;
  while (cut == 0 && one.now < asked + 10s) {
    one.now = one.node.deadline();
    cut += all<EndSteps>(one.step(Tick{})).size();
  }
  CHECK(one.now == asked + 3s);
  optim::Done done;
  done.round = jobs.back().round;
  done.is_offer = true;
  done.saved = std::make_shared<const optim::SavedState>();
  CHECK(all<Save>(one.step(Trained{done})).size() == 1);
  CHECK(all<Stopped>(one.step(Saved{.generation = 1})).size() == 1);
}

TEST_CASE("Warnings are those of the status") {
  Options options = party_options(1);
  options.expect = 3;
  One one(options);
  for (; one.now < Time(5s); one.now += 500ms) one.step(Tick{});
  CHECK(one.node.warnings(one.now).size() == 1);
  CHECK(one.node.warnings(one.now) == one.node.status(one.now).warnings);
}

TEST_CASE("A vector of a node that is no neighbour is not averaged") {
  One one;
  one.step(Tick{});
  one.step(Mail("node-2", Join{neighbor()}).received());
  const Outputs outputs =
      one.step(Mail("node-2", round_of({.round = 1}, 1, 1, 1), "starling", 2).received());
  CHECK(outputs.empty());
  CHECK(one.node.status(one.now).edges.empty());
}

TEST_CASE("A newcomer whose model fits nobody's rests and says so") {
  FewNodes nodes({.saw_output = [](const std::string&, const Output&, const std::string&) {},
                  .stepped = [](const std::string&) {}});
  nodes.start("node-1", party_options(1), {.step = 20ms, .bytes = 80, .schema = "wide"});
  nodes.run(1s);
  Options newcomer = party_options(2);
  newcomer.seeds = {FewNodes::control_of("node-1")};
  nodes.start("node-2", newcomer, {.step = 20ms, .schema = "narrow"});
  nodes.run(3s);
  const auto reasons = [&] { return nodes.find("node-2")->status(nodes.now()).reasons; };
  const std::string misfit = "the model of node-1 does not fit this node: ";
  CHECK(std::ranges::any_of(reasons(), [&](auto& text) { return text.starts_with(misfit); }));
  nodes.run(19s);
  const Status status = nodes.find("node-2")->status(nodes.now());
  CHECK(status.is_alone);
  CHECK(status.run.round == 0);
  const auto says = [](const std::string& text) { return text.ends_with("waits for node-1"); };
  CHECK(std::ranges::any_of(status.reasons, says));
  // A stranger keeps nobody from training.
  CHECK(nodes.find("node-1")->status(nodes.now()).run.round > 100);
}

// Their bytes are more than a node without neighbours would keep; see Assembler.
TEST_CASE("The beginnings of vectors of all neighbours are kept") {
  constexpr int kNodes = 12;
  FewNodes nodes({.saw_output = [](const std::string&, const Output&, const std::string&) {},
                  .stepped = [](const std::string&) {}});
  for (int k = 0; k < kNodes; ++k) {
    Options options = party_options(k);
    options.expect = kNodes;
    options.topology.kind = topology::Kind::complete;
    if (k > 0) options.seeds = {FewNodes::control_of("node-0")};
    nodes.start(options.name, options, {.step = 1s, .bytes = kChunkBytes + 1000});
  }
  nodes.run(4s);
  REQUIRE(nodes.find("node-0")->status(nodes.now()).edges.size() == kNodes - 1);
  for (int k = 1; k < kNodes; ++k)
    nodes.meddle({Mishap::Kind::interrupt, "vector", fmt::format("node-{}", k), "node-0"});
  const std::uint64_t round = nodes.find("node-0")->status(nodes.now()).run.round;
  nodes.run(4s);
  const Status status = nodes.find("node-0")->status(nodes.now());
  CHECK(status.run.round > round);
  CHECK_FALSE(status.rejected.contains("incomplete"));
}

// The ack comes from the first member to make room, and its rumor is of a member that needs room.
TEST_CASE("A member may make room for another one of which it tells") {
  One one;
  Gossip crowd;
  for (std::size_t k = 0; k + 1 < kMembersLimit; ++k)
    crowd.rumors.push_back({sample_member(fmt::format("invented-{}", k)), Liveness::alive, {}});
  crowd.rumors.front().liveness = Liveness::dead;
  for (Rumor& rumor : crowd.rumors)
    rumor.member.change([](Member& member) { member.incarnation = 1; });
  one.step(Mail("node-2", crowd).received());
  REQUIRE(one.node.status(one.now).members.size() == kMembersLimit);
  const std::string& first = crowd.rumors.front().member->name;
  const Probe ack{Probe::Kind::ack, 1, node_id(first), {{neighbor(), Liveness::alive, {}}}, {}};
  one.step(Mail(first, ack, "starling", 1, 2).received());
  const auto members = one.node.status(one.now).members;
  CHECK(members.size() == kMembersLimit);
  const auto is_listed = [&](const std::string& name) {
    return std::ranges::any_of(members,
                               [&](const auto& item) { return item.member->name == name; });
  };
  CHECK_FALSE(is_listed(first));
  CHECK(is_listed("node-2"));
}

TEST_CASE("A node of another version of the protocol is refused by name") {
  One one;
  one.step(Tick{});
  const Mail mail("node-2", Join{neighbor()});
  for (const int version : {1, 2, static_cast<int>(kProtocolVersion) + 1}) {
    std::string header = mail.frame.header;
    header[1] = static_cast<char>(version);  // after the head of the array
    const bool has_checksum = version > 1;
    if (!has_checksum) header.resize(header.size() - kHeaderSumBytes);
    CHECK(
        one.step(Received{Plane::control, node_id("node-2"), std::as_bytes(std::span(header)), {}})
            .empty());
    const Status status = one.node.status(one.now);
    REQUIRE(status.warnings.size() == 1);
    CHECK(status.warnings.front() == fmt::format("node-2 at 10.0.0.1:7600 speaks version {} of "
                                                 "the protocol; this node {}",
                                                 version, kProtocolVersion));
    CHECK(status.members.size() == 1);
  }
  CHECK(one.node.status(one.now).rejected.at("protocol") == 3);
}

TEST_CASE("A message of another version that is no Join names no node") {
  One one;
  one.step(Tick{});
  Member liar = neighbor();
  liar.name = "two\nlines";
  for (const Body& body : {Body(Gossip{{{neighbor()}}}), Body(Hello{}), Body(Join{liar})}) {
    std::string header = Mail("node-2", body).frame.header;
    header[1] = 1;
    one.step(Received{Plane::control, node_id("node-2"), std::as_bytes(std::span(header)), {}});
    for (std::size_t size = 0; size < header.size(); ++size)
      one.step(Received{
          Plane::control, node_id("node-2"), std::as_bytes(std::span(header).first(size)), {}});
  }
  CHECK(one.node.status(one.now).warnings.empty());
}
