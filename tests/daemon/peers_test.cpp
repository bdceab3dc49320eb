#include "daemon/process/peers.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/gossip/samples.h"

using namespace starling;
using gossip::Plane;
using gossip::Transport;

namespace {

// Notes in words what it is asked for, and has connections with those that a test names.
class NotedTransport : public Transport {
 public:
  void reach(NodeId, const std::optional<Address>& at) override {
    notes_.push_back("reach " + (at ? to_string(at->at) : "nowhere"));
  }
  std::optional<Address> dialled(NodeId) override { return way; }
  void open(NodeId, Plane plane) override { notes_.push_back("open" + words(plane)); }
  void send(const Target& to, Plane plane, gossip::Frames) override {
    const auto* address = std::get_if<Address>(&to);
    notes_.push_back("send" + words(plane) + (address ? " to " + to_string(address->at) : ""));
  }
  bool answer(NodeId to, gossip::Frames) override {
    notes_.push_back("answer");
    return connected.contains(to);
  }
  void hang_up(const Target&, Plane plane) override { notes_.push_back("hang up" + words(plane)); }

  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  std::set<NodeId> connected;
  std::optional<Address> way;  // where it has dialled everybody

 private:
  static std::string words(Plane plane) { return plane == Plane::control ? " control" : " bulk"; }

  std::vector<std::string> notes_;
};

struct Party {
  using Notes = std::vector<std::string>;

  Notes after(auto output) {
    peers.act(output);
    return transport.take_notes();
  }
  static gossip::Send send(gossip::Body body) {
    return {.to = kPeer, .message = {{1, NodeId{2}, 3, 4}, std::move(body), {}}};
  }

  inline static const NodeId kPeer = node_id("node-1");
  NotedTransport transport;
  gossip::Guard guard{NodeId{2}, nullptr, {}};
  daemon::HostNames names{
      [](const SeedName&) -> Result<std::vector<Endpoint>> { return fail("unknown"); },
      {.refresh = std::chrono::hours(1), .retry = std::chrono::hours(1)}};
  daemon::TraceLog trace;
  daemon::Peers peers{transport, guard, names, trace};
};

const gossip::Contact kContact{.name = "node-1", .control = {"10.0.0.1", 7600}};

}  // namespace

TEST_CASE("A node whose address is not known is not dialled") {
  Party party;
  CHECK(party.after(Party::send(gossip::Hello{})).empty());
  gossip::Contact named = kContact;
  named.control.host = "somewhere.example";
  CHECK(party.after(gossip::Reach{Party::kPeer, named}).empty());
  // It may have dialled this node.
  CHECK(party.after(Party::send(gossip::Bye{})) == Party::Notes{"send control"});
}

TEST_CASE("A node is reached at its address until it is forgotten") {
  Party party;
  party.after(gossip::Reach{Party::kPeer, kContact});
  CHECK(party.after(Party::send(gossip::Bye{})) ==
        Party::Notes{"reach 10.0.0.1:7600", "send control"});
  CHECK(party.after(Party::send(gossip::Round{})) ==
        Party::Notes{"reach 10.0.0.1:7600", "send bulk"});
  CHECK(party.after(gossip::Reach{Party::kPeer, {}}) == Party::Notes{"reach nowhere"});
  CHECK(party.after(Party::send(gossip::Bye{})).empty());
}

TEST_CASE("Asking for an edge or a model opens the bulk plane first") {
  Party party;
  party.after(gossip::Reach{Party::kPeer, kContact});
  const gossip::Body bodies[] = {gossip::Hello{},
                                 gossip::SnapshotRequest{test::sample_member("node-2")}};
  for (const gossip::Body& body : bodies)
    CHECK(party.after(Party::send(body)) ==
          Party::Notes{"reach 10.0.0.1:7600", "open bulk", "send control"});
}

TEST_CASE("An answer to a stranger goes back over its connection or else to its address") {
  Party party;
  const gossip::Introduce answer{.to = kContact.control,
                                 .message = {{1, NodeId{2}, 3, 4}, gossip::Table{}, {}},
                                 .asker = Party::kPeer};
  CHECK(party.after(answer) == Party::Notes{"answer", "send control to 10.0.0.1:7600"});
  party.transport.connected.insert(Party::kPeer);
  CHECK(party.after(answer) == Party::Notes{"answer"});
}

TEST_CASE("A stranger that nobody can dial gets an answer over its connection or none") {
  Party party;
  const gossip::Introduce answer{.to = {"hidden-1", 0},
                                 .message = {{1, NodeId{2}, 3, 4}, gossip::Table{}, {}},
                                 .asker = Party::kPeer};
  CHECK(party.after(answer) == Party::Notes{"answer"});
}

TEST_CASE("A node whose name means nothing here is reached where it was dialled before") {
  Party party;
  gossip::Contact named = kContact;
  named.control.host = "somewhere.example";
  party.after(gossip::Reach{Party::kPeer, named});
  const gossip::Introduce call{.to = named.control,
                               .message = {{1, NodeId{2}, 3, 4}, gossip::DialBack{}, {}},
                               .of = Party::kPeer};
  CHECK(party.after(call).empty());
  party.transport.way = Transport::Address{{"10.0.0.1", 7600}};
  CHECK(party.after(call) == Party::Notes{"send control to 10.0.0.1:7600"});
  CHECK(party.after(Party::send(gossip::Hello{})) ==
        Party::Notes{"reach 10.0.0.1:7600", "open bulk", "send control"});
}

TEST_CASE("A call to a name that has no address is told as unanswered once") {
  Party party;
  const Endpoint nowhere{"somewhere.example", 7600};
  const gossip::Introduce call{
      .to = nowhere, .message = {{1, NodeId{2}, 3, 4}, gossip::DialBack{}, {}}, .of = Party::kPeer};
  std::vector<Endpoint> told;
  const auto take = [&told](const gossip::Input& input) {
    told.push_back(std::get<gossip::Unanswered>(input).at);
  };
  party.after(call);
  party.peers.take_findings(take);
  CHECK(told.empty());  // it is looked up
  pollfd looked_up{party.names.descriptor(), POLLIN, 0};
  REQUIRE(::poll(&looked_up, 1, 60'000) == 1);
  party.names.take_found();
  party.after(call);
  CHECK(party.peers.is_waiting());
  party.peers.take_findings(take);
  party.peers.take_findings(take);
  CHECK(told == std::vector{nowhere});
}
