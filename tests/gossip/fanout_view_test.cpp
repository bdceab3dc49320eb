#include "gossip/members/fanout_view.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace starling;
using gossip::FanoutView;

TEST_CASE("Late and early members are in equally many fan-out views") {
  constexpr std::size_t kMembers = 200;
  std::vector<NodeId> all;
  for (std::size_t k = 0; k < kMembers; ++k) all.push_back(node_id("node-" + std::to_string(k)));
  std::size_t early = 0, late = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng prng(seed);
    FanoutView circle;
    std::vector<NodeId> others;
    std::map<NodeId, std::size_t> place;
    for (std::size_t k = 0; k < kMembers; ++k) {
      place[all[k]] = k;
      others.push_back(all[k]);
      circle.meet(all[k], others.size(), prng);
      if (k == 20) circle.choose(others, prng);  // it is full when most come
    }
    for (NodeId listener : circle.choose(others, prng))
      ++(place.at(listener) < kMembers / 2 ? early : late);
  }
  // Of 600, three standard deviations are 37.
  CHECK(early + late == 600);
  CHECK(early > 263);
  CHECK(late > 263);
}
