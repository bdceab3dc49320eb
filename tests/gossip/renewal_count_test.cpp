#include "gossip/edges/renewal_count.h"

#include <doctest/doctest.h>

using starling::gossip::RenewalCount;

TEST_CASE("All nodes begin anew once for an edge that closed at both its ends") {
  RenewalCount a, b, c;
  for (RenewalCount* node : {&a, &b, &c}) node->edge_opened();
  a.edge_closed();
  b.edge_closed();
  CHECK(a.is_behind());
  CHECK_FALSE(c.is_behind());
  a.catch_up();
  b.catch_up();
  CHECK(a.agrees(b.value()));
  CHECK_FALSE(c.agrees(a.value()));
  CHECK(c.is_behind());
  c.catch_up();
  CHECK(a.agrees(c.value()));
  CHECK_FALSE(a.is_behind());
}

TEST_CASE("A node that had no edge yet takes the count of the others") {
  RenewalCount newcomer;
  CHECK(newcomer.agrees(7));
  CHECK_FALSE(newcomer.is_behind());
}

TEST_CASE("A count that is far above this node's is not believed") {
  RenewalCount node;
  node.edge_opened();
  CHECK_FALSE(node.agrees(UINT64_MAX));
  CHECK_FALSE(node.is_behind());
}
