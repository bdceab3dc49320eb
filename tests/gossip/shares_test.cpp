// Which share of the data each of a few nodes trains on, by the jobs of their trainers.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/gossip/few_nodes.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

// The first begins a cluster; the others join it.
struct Fleet {
  explicit Fleet(Duration data_of_first) {
    for (int k = 1; k <= 3; ++k) {
      Options options = party_options(k);
      if (k > 1) options.seeds = {FewNodes::control_of("node-1")};
      const CannedTrainer trainer{.data = k == 1 ? data_of_first : 1ms};
      nodes.start(options.name, options, trainer);
    }
  }
  void expect_shares() const {
    for (const auto& [name, shard] : shards) {
      CAPTURE(name);
      const std::vector<NodeId> all{node_id("node-1"), node_id("node-2"), node_id("node-3")};
      CHECK(shard->members == all);
      CHECK(shard->members.at(shard->place) == node_id(name));
    }
  }

  std::map<std::string, std::shared_ptr<const optim::Shard>> shards;  // the newest
  FewNodes nodes{{.saw_output =
                      [this](const std::string& node, const Output& output, const std::string&) {
                        const auto* train = std::get_if<Train>(&output);
                        if (train && train->job.shard) shards[node] = train->job.shard;
                      },
                  .stepped = [](const std::string&) {}}};
};

}  // namespace

TEST_CASE("A node that was dealt all data shares them with those it meets before its first round") {
  for (const Duration data : {1ms, 15ms, 20ms, 25ms, 30ms, 50ms, 100ms, 500ms, 3000ms}) {
    CAPTURE(data.count());
    Fleet fleet(data);
    fleet.nodes.run(6s);
    fleet.expect_shares();
  }
}
