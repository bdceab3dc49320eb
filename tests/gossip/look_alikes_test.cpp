#include "gossip/members/look_alikes.h"

#include <doctest/doctest.h>

#include "tests/gossip/crowd.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

TEST_CASE("Present members whose names differ in letter case alone are warned of") {
  const auto record = [](const char* name) {
    Options options = party_options(0);
    options.name = name;
    return Identity(options, Time{}).record();
  };
  const Record own(record("site-a"));
  Roster roster(own);
  roster.list(roster.add(Record(record("site-b"))));
  CHECK(look_alikes(roster).empty());
  Roster::Entry& other = roster.add(Record(record("Site-A")));
  roster.list(other);
  CHECK(look_alikes(roster) ==
        "the names of Site-A and site-a differ in large and small letters alone; give one of them "
        "another node.name");
  roster.unlist(other);
  CHECK(look_alikes(roster).empty());
}
