#include "base/node_name.h"

#include <doctest/doctest.h>

using namespace starling;

TEST_CASE("A name of a node stays below its folder and looks like no other") {
  for (const char* name : {"node-1", "ward 3", "Köln", "..a", ".hidden", "a.", ""})
    CHECK_MESSAGE(is_node_name(name), name);
  for (const char* name : {"../x", "a/b", "/", ".", "..", "node-1 ", " node-1", "node-1\u00a0",
                           "\u3000node-1", "a\nb", "a\u202eb", "caf\xe9", " "})
    CHECK_FALSE_MESSAGE(is_node_name(name), name);
}
