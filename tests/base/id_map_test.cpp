#include "base/id_map.h"

#include <doctest/doctest.h>

#include <map>

#include "base/prng.h"

using namespace starling;

TEST_CASE("A map by ids holds what a map holds after any insertions and erasures") {
  Prng prng(1);
  IdMap<int> ours;
  std::map<NodeId, int> known;
  for (int k = 0; k < 20000; ++k) {
    // Few different low bits: long runs of slots.
    const NodeId id{prng.below(64) * 1024 + prng.below(8)};
    if (prng.chance(0.4)) {
      ours.erase(id);
      known.erase(id);
    } else {
      ours[id] = known[id] = k;
    }
    REQUIRE(ours.size() == known.size());
    const NodeId asked{prng.below(64) * 1024 + prng.below(8)};
    const auto found = known.find(asked);
    REQUIRE((ours.find(asked) != nullptr) == (found != known.end()));
    if (found != known.end()) REQUIRE(*ours.find(asked) == found->second);
  }
}
