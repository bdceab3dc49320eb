// When all members are walked again: in proportion to their number, or at once after a message.
#include "gossip/node/member_look.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::gossip;
using namespace std::chrono_literals;

TEST_CASE("Looks at the members come no more often than their number allows") {
  for (const auto& [members, pause] :
       {std::pair{std::size_t{16}, 320us}, {1000, 20ms}, {4096, 20ms}}) {
    CAPTURE(members);
    MemberLook look;
    Time now(1s);
    CHECK(look.begin(now, members));
    CHECK_FALSE(look.begin(now + pause - 1ns, members));
    CHECK(look.begin(now + pause, members));
  }
}

TEST_CASE("A look comes at once after a message and by itself while something is awaited") {
  MemberLook look;
  const Time now(1s);
  CHECK(look.begin(now, 1000));
  look.end(now, true);
  CHECK(look.deadline() == now + 20ms);
  look.touch(now + 1ns);
  CHECK(look.deadline() == now + 1ns);
  CHECK(look.begin(now + 1ns, 1000));
  CHECK_FALSE(look.begin(now + 2ns, 1000));
  look.end(now + 2ns, false);
  CHECK(look.deadline() == kNever);
}
