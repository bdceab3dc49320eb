// What a node keeps of names that have gone: machines may come under new names all the time.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <malloc.h>

#include <span>
#include <string>

#include "gossip/node/node.h"
#include "gossip/wire/transfer.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

// Of the allocator of a sanitizer, which is there or not.
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// Of this process, now.
std::size_t allocated_bytes() {
  return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                 : ::mallinfo2().uordblks;
}

// A node that trains, and others that come and go.
struct Host {
  Host() {
    step(Tick{});
    optim::Done prepared;
    prepared.workload.emplace().schema_hash = 1;
    step(Trained{prepared});
    for (int k = 0; k < 4; ++k) now += 1s, step(Tick{});
  }
  void step(Input input) {
    Outputs out;
    node.step(now, std::move(input), out);
  }
  void hear(const std::string& sender, std::uint64_t sequence, Body body) {
    const NodeId from = node_id(sender);
    const Plane plane = kind_of(body).plane;
    const Envelope envelope{stable_hash("starling"), from, 1, sequence};
    const Frame frame = Cutter().cut({envelope, std::move(body), {}}).next();
    step(Received{plane, from, std::as_bytes(std::span(frame.header)), frame.payload});
  }
  // The guest joins, says hello, tells of ten rounds, and leaves.
  void host(const std::string& name) {
    Record guest(sample_member(name));
    guest.change([](Member& member) {
      member.incarnation = member.version = 1;
      member.control.host = "10.0.0.2";
    });
    std::uint64_t sequence = 0;
    hear(name, ++sequence, Join{guest});
    hear(name, ++sequence, Hello{.epoch = 1, .schema = 1});
    for (int round = 1; round <= 10; ++round) {
      guest.change([](Member& member) { ++member.version, ++member.round; });
      hear(name, ++sequence, Gossip{{{guest}}});
      now += 200ms;
      step(Tick{});
    }
    guest.change([](Member& member) { ++member.version; });
    hear(name, ++sequence, Gossip{{{guest, Liveness::left}}});
  }

  Time now{};
  Node node{party_options(1), Time{}};
};

}  // namespace

TEST_CASE("Names that have gone take no more memory however many there were") {
  Host host;
  int names = 0;
  const auto walk = [&](int until) {
    for (; names < until; ++names) host.host(fmt::format("spot-{}", names));
    return allocated_bytes();
  };
  const std::size_t first = walk(1000);
  for (const int until : {2000, 3000, 4000, 5000}) {
    const std::size_t later = walk(until);
    INFO("allocated after 1000 names ", first, " bytes and after ", until, " ", later);
    // What is kept is dropped at once when it is too much; between two times it varies.
    CHECK(later < first + (1 << 20));
  }
  REQUIRE(host.node.status(host.now).state == State::training);
  CHECK(host.node.status(host.now).members.size() <= 66);
}
