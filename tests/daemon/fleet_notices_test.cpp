#include "daemon/cli/up/fleet_notices.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;

using Texts = std::vector<std::string>;

TEST_CASE("A text of several nodes is told once with the names of all") {
  FleetNotices notices;
  for (const char* node : {"node-1", "node-2", "node-3"}) notices.hear(Time(1s), node, Texts{"a"});
  CHECK(notices.take_due(Time(1s)) == Texts{"node-1, node-2 and node-3: a"});
  notices.hear(Time(2s), "node-1", Texts{"a"});
  CHECK(notices.take_due(Time(9s)).empty());
}

TEST_CASE("Nodes that say what another has said are told together after a while") {
  FleetNotices notices;
  notices.hear(Time(1s), "node-0", Texts{"gone in round 7"});
  CHECK(notices.take_due(Time(1s)) == Texts{"node-0: gone in round 7"});
  notices.hear(Time(1s), "node-2", Texts{"gone in round 8"});
  notices.hear(Time(2s), "node-1", Texts{"gone in round 9", "b"});
  CHECK(notices.take_due(Time(2s)) == Texts{"node-1: b"});
  CHECK(notices.take_due(Time(3s)) == Texts{"node-2 and node-1: gone in round 8"});
}

TEST_CASE("At the end of a run all that was held back is told") {
  FleetNotices notices;
  notices.hear(Time(1s), "node-0", Texts{"a"});
  notices.take_due(Time(1s));
  notices.hear(Time(1s), "node-1", Texts{"a"});
  CHECK(notices.take_due(Time(1s)).empty());
  CHECK(notices.take_all() == Texts{"node-1: a"});
}

TEST_CASE("Of many nodes the first are named and the others are counted") {
  Texts names;
  for (int k = 0; k < 11; ++k) names.push_back(std::to_string(k));
  CHECK(enumerate(names) == "0, 1, 2, 3, 4, 5, 6, 7 and 3 more");
  CHECK(enumerate(Texts{"a"}) == "a");
}
