#include "daemon/process/notices.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace std::chrono_literals;
using daemon::Notices;

using Texts = std::vector<std::string>;

TEST_CASE("A warning is said once as long as it stays") {
  Notices notices;
  CHECK(notices.take_new(Time(1s), Texts{"a", "b"}) == Texts{"a", "b"});
  CHECK(notices.take_new(Time(2s), Texts{"a", "c"}) == Texts{"c"});
  notices.said(Time(2s), "d");
  CHECK(notices.take_new(Time(3s), Texts{"d", "b"}).empty());
}

TEST_CASE("A warning that comes back after a minute is said again") {
  Notices notices;
  notices.take_new(Time(0s), Texts{"a"});
  CHECK(notices.take_new(Time(59s), Texts{"a"}).empty());
  CHECK(notices.take_new(Time(118s), Texts{"a"}).empty());
  CHECK(notices.take_new(Time(179s), Texts{"a"}) == Texts{"a"});
}

TEST_CASE("A warning whose measured numbers change is the same warning and another node is not") {
  Notices notices;
  CHECK(notices.take_new(Time(0s), Texts{"the loss would rise from 2.3 to 1.7e+04"}).size() == 1);
  CHECK(notices.take_new(Time(1s), Texts{"the loss would rise from 2 to 35.81"}).empty());
  CHECK(notices.take_new(Time(1s), Texts{"in round 4; lower it (now 100)"}).size() == 1);
  CHECK(notices.take_new(Time(1s), Texts{"in round 15; lower it (now 1)"}).empty());
  CHECK(notices.take_new(Time(1s), Texts{"no edge to node-3", "no edge to node-4"}).size() == 2);
  CHECK(notices.take_new(Time(1s), Texts{"10.0.0.1:7600", "10.0.0.2:7600"}).size() == 2);
}
