#include "gossip/members/rumor_queue.h"

#include <doctest/doctest.h>

using namespace starling;
using gossip::RumorQueue;

namespace {

using Ids = std::vector<NodeId>;

}  // namespace

TEST_CASE("The rumors told least are told first and equal ones in the order in which they came") {
  RumorQueue queue;
  for (const std::uint64_t id : {3, 1, 2}) queue.add(NodeId{id});
  CHECK(queue.take(2, 9) == Ids{NodeId{3}, NodeId{1}});
  CHECK(queue.take(2, 9) == Ids{NodeId{2}, NodeId{3}});
  queue.add(NodeId{3});
  CHECK(queue.take(3, 9) == Ids{NodeId{3}, NodeId{1}, NodeId{2}});
}

TEST_CASE("A rumor is forgotten once it counts as told often enough") {
  RumorQueue queue;
  queue.add(NodeId{1});
  queue.add(NodeId{2});
  queue.count(NodeId{1}, 3);
  CHECK(queue.take(9, 3) == Ids{NodeId{2}});
  CHECK(queue.size() == 1);
  queue.add(NodeId{3});
  queue.count_all(2, 3);
  CHECK(queue.take(9, 3) == Ids{NodeId{3}});
  CHECK(queue.empty());
}

TEST_CASE("News after a count of all rumors is told before them") {
  RumorQueue queue;
  queue.add(NodeId{1});
  queue.count_all(1, 9);
  queue.add(NodeId{2});
  queue.count_all(1, 9);
  queue.add(NodeId{3});
  CHECK(queue.take(9, 9) == Ids{NodeId{3}, NodeId{2}, NodeId{1}});
  queue.forget(NodeId{2});
  CHECK(queue.take(9, 9) == Ids{NodeId{3}, NodeId{1}});
}
