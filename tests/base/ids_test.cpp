#include "base/ids.h"

#include <doctest/doctest.h>

using namespace starling;

TEST_CASE("Names sort as a person would sort them") {
  CHECK(natural_less("node-2", "node-10"));
  CHECK_FALSE(natural_less("node-10", "node-2"));
  CHECK(natural_less("a", "a1"));
  CHECK(natural_less("node-02", "node-2") != natural_less("node-2", "node-02"));
  CHECK_FALSE(natural_less("x7", "x7"));
}

TEST_CASE("A node id is written in sixteen digits") {
  CHECK(to_string(NodeId{0xabc}) == "0000000000000abc");
}
