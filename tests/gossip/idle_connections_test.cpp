#include "gossip/node/idle_connections.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

namespace {

struct Sending {
  // Returns whom the node hangs up after it has sent to these.
  std::vector<NodeId> send(Time now, std::uint64_t first, std::uint64_t last) {
    Outputs sent;
    outbox.begin(sent);
    for (std::uint64_t id = first; id <= last; ++id) outbox.send(NodeId{id}, Gossip{});
    Outputs out;
    outbox.begin(out);
    connections.follow(now, sent, outbox);
    std::vector<NodeId> closed;
    for (const Output& output : out) closed.push_back(std::get<Hangup>(output).from);
    return closed;
  }

  Outbox outbox{1, NodeId{99}, 1};
  IdleConnections connections;
};

}  // namespace

TEST_CASE("Of many control connections those that were used last stay") {
  Sending node;
  CHECK(node.send(Time(0s), 1, 8).empty());
  CHECK(node.send(Time(1s), 1, 2).empty());
  CHECK(node.send(Time(4s), 8, 8) == std::vector{NodeId{3}, NodeId{4}, NodeId{5}, NodeId{6}});
  CHECK(node.send(Time(60s), 8, 8).empty());
}

TEST_CASE("A connection that was used lately stays however many there are") {
  Sending node;
  CHECK(node.send(Time(0s), 1, 200).empty());
  CHECK(node.send(Time(2s), 1, 200).empty());
}
