// The states of a connection.
#include "gossip/transport/connection.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

using namespace starling::gossip;

TEST_CASE("A connection that has ended is never used again") {
  using enum Connection::State;
  constexpr Connection::State kAll[] = {dialling, open, shut, lost, broken};
  for (const Connection::State from : kAll)
    for (const Connection::State to : kAll) {
      CAPTURE(static_cast<int>(from));
      CAPTURE(static_cast<int>(to));
      Connection before, after;
      before.state = from, after.state = to;
      if (!Connection::may_follow(from, to)) continue;
      CHECK(from != to);
      CHECK(from != broken);
      if (!before.is_usable()) CHECK(to == broken);
      if (before.has_ended()) CHECK(after.has_ended());
    }
}

TEST_CASE("Every connection can end and only an open one is shut or lost") {
  using enum Connection::State;
  for (const Connection::State from : {dialling, open, shut, lost})
    CHECK(Connection::may_follow(from, broken));
  for (const Connection::State to : {shut, lost}) {
    CHECK(Connection::may_follow(open, to));
    CHECK_FALSE(Connection::may_follow(dialling, to));
  }
}
