// Connections between nodes of a world: opening, closing, NATs, and connections over which nothing
// passes.
#include "sim/wires.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/wire/connection_rules.h"
#include "sim/driver.h"
#include "sim/options.h"
#include "sim/queue.h"

using namespace starling;
using namespace std::chrono_literals;

namespace {

NodeId id_of(std::size_t node) {
  return node_id(sim::name_of(node));
}

// Processes of nodes 0 and up, of which the last ones are hidden; frames take 5 ms.
class Drivers {
 public:
  Drivers(std::size_t nodes, std::size_t hidden)
      : wires_(network, nodes, queue_.now(),
               [this](Time at, sim::Wires::Event event) { queue_.push(at, event); }),
        drivers_(nodes) {
    for (std::size_t node = 0; node < nodes; ++node) addresses_.push_back(sim::control_of(node));
    for (std::size_t node = 0; node < nodes; ++node) begin(node, node + hidden >= nodes);
  }
  void begin(std::size_t node, bool is_hidden) {
    if (is_hidden) addresses_[node] = {sim::name_of(node), 0};
    wires_.begin(node, addresses_[node], is_hidden);
    drivers_[node] = std::make_unique<sim::Driver>(wires_, node, id_of(node), now());
    for (std::size_t other = 0; other <= node; ++other)
      for (const auto& [a, b] : {std::pair(node, other), std::pair(other, node)})
        drivers_[a]->reach(now(), {id_of(b), {.name = sim::name_of(b), .control = addresses_[b]}});
  }
  void end(std::size_t node) { drivers_[node].reset(); }
  void forget(std::size_t node) { wires_.forget(node); }
  void send(std::size_t from, std::size_t to, gossip::Body body = gossip::Gossip{},
            Payload payload = {}) {
    const gossip::Plane plane = gossip::kind_of(body).plane;
    drivers_[from]->send(now(), id_of(to),
                         {{from, to, plane}, {{}, std::move(body), std::move(payload)}, 0});
  }
  void run(Duration time) {
    for (const Time end = now() + time; now() < end; queue_.wait_until(now() + 1ms)) {
      while (queue_.next_time() <= now()) {
        sim::Wires::Event event = queue_.pop();
        std::visit([this](auto& what) { happen(what); }, event);
      }
      for (const auto& driver : drivers_)
        if (driver) driver->look(now());
    }
  }
  Time now() const { return queue_.now(); }
  // The messages that the node got since the last call, by sender.
  std::vector<NodeId> take(std::size_t node) { return std::exchange(heard_[node], {}); }

  sim::Network network{{.delay = 5ms}, 1};

 private:
  void happen(const sim::Wires::Task& task) { task.act(); }
  void happen(const sim::Wires::Notice& notice) {
    const auto node = wires_.owner(notice.end);
    if (!node) return;
    wires_.notify(notice);
    drivers_[*node]->follow(now());
  }
  void happen(sim::Wires::Delivery& delivery) {
    if (!wires_.arrive(delivery)) return;
    const std::size_t node = *wires_.owner(delivery.end);
    if (auto received = drivers_[node]->hear(now(), wires_.read(delivery)))
      heard_[node].push_back(received->from);
  }

  sim::Queue<sim::Wires::Event> queue_;
  sim::Wires wires_;
  std::vector<Endpoint> addresses_;
  std::vector<std::unique_ptr<sim::Driver>> drivers_;
  std::map<std::size_t, std::vector<NodeId>> heard_;
};

using Senders = std::vector<NodeId>;

}  // namespace

// Packets to connect there and back, greetings there and back, and the message.
TEST_CASE("The first message to a node takes two round trips longer than the next") {
  Drivers drivers(2, 0);
  drivers.send(0, 1);
  drivers.run(25ms);
  CHECK(drivers.take(1).empty());
  drivers.run(2ms);
  CHECK(drivers.take(1) == Senders{id_of(0)});
  drivers.send(0, 1);
  drivers.send(1, 0);
  drivers.run(7ms);
  CHECK(drivers.take(1) == Senders{id_of(0)});
  CHECK(drivers.take(0) == Senders{id_of(1)});
}

TEST_CASE("A hidden node is reached over a connection that it has opened alone") {
  Drivers drivers(3, 2);
  drivers.send(0, 1);
  drivers.send(1, 2);
  drivers.run(10s);
  CHECK(drivers.take(1).empty());
  CHECK(drivers.take(2).empty());
  drivers.send(1, 0);
  drivers.run(100ms);
  CHECK(drivers.take(0) == Senders{id_of(1)});
  CHECK(drivers.take(1) == Senders{id_of(0)});  // the message has waited
}

TEST_CASE("A connection that a NAT has forgotten is given up and opened again") {
  Drivers drivers(2, 1);
  drivers.send(1, 0);
  drivers.run(1s);
  CHECK(drivers.take(0).size() == 1);
  drivers.forget(1);
  drivers.send(1, 0);
  drivers.send(0, 1);
  drivers.run(gossip::kCutPatience - 100ms);
  CHECK(drivers.take(0).empty());
  drivers.send(1, 0);  // lost with the connection
  drivers.run(500ms);
  drivers.send(1, 0);
  drivers.send(0, 1);
  drivers.run(500ms);
  CHECK(drivers.take(0) == Senders{id_of(1)});
  CHECK(drivers.take(1) == Senders{id_of(0)});
}

TEST_CASE("A short cut ends no connection and a long one does") {
  Drivers drivers(2, 0);
  for (const Duration cut : {Duration(2s), Duration(5s)}) {
    drivers.send(0, 1);
    drivers.run(5s);
    drivers.take(1);
    drivers.network.partition(std::vector<std::size_t>{0}, 2);
    drivers.send(0, 1);
    drivers.run(cut);
    drivers.network.heal();
    drivers.send(0, 1);
    drivers.run(7ms);
    CHECK(drivers.take(1).size() == (cut < gossip::kCutPatience ? 1 : 0));
    drivers.run(5s);
    drivers.take(1);
  }
}

TEST_CASE("What a process has sent arrives after its end and nothing reaches it again") {
  Drivers drivers(2, 0);
  drivers.send(0, 1);
  drivers.run(1s);
  drivers.take(1);
  drivers.send(0, 1);
  drivers.end(0);
  drivers.run(1s);
  CHECK(drivers.take(1) == Senders{id_of(0)});
  drivers.send(1, 0);
  drivers.run(1s);
  drivers.begin(0, false);
  drivers.run(10s);
  CHECK(drivers.take(0).empty());  // the message was dropped when nobody listened
  drivers.send(1, 0);
  drivers.run(1s);
  CHECK(drivers.take(0) == Senders{id_of(1)});
}

TEST_CASE("A full connection takes no more frames until some have arrived") {
  Drivers drivers(2, 0);
  drivers.send(0, 1, gossip::Round{});
  drivers.run(1s);
  drivers.take(1);
  drivers.network.options().bandwidth = 1e6;
  const auto chunk = Payload::copy_of(std::vector(gossip::kChunkBytes, std::byte{1}));
  const std::size_t most = gossip::sending_limit(gossip::Plane::bulk);
  const std::size_t waiting = gossip::waiting_limit(gossip::Plane::bulk);
  for (std::size_t k = 0; k < 2 * most; ++k) drivers.send(0, 1, gossip::Round{}, chunk);
  drivers.run(60s);
  CHECK(drivers.take(1).size() == most + waiting);
}
