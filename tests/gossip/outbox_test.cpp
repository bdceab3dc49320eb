#include "gossip/outbox.h"

#include <doctest/doctest.h>

#include <string>

using namespace starling;
using namespace starling::gossip;

TEST_CASE("A message beyond a limit of the protocol is counted instead of sent") {
  Outbox outbox(1, NodeId{2}, 3);
  Outputs outputs;
  outbox.begin(outputs);
  const NodeId peer{3};
  outbox.send(peer, Bye{std::string(kReasonBytesLimit + 1, 'x')});
  CHECK(outputs.empty());
  CHECK(outbox.unsendable().at("bye") == 1);
  outbox.send(peer, Bye{std::string(kReasonBytesLimit, 'x')});
  CHECK(outputs.size() == 1);
  CHECK(outbox.unsendable().at("bye") == 1);
}
