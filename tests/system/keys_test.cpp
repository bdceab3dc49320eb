// What real processes say about keys that are missing or wrong.
#include <doctest/doctest.h>

#include <string>

#include "tests/system/harness.h"

using namespace starling;

namespace {

struct Answer {
  const char* arguments;
  const char* text;
};

const Answer kAnswers[] = {
    {"run --listen.control=0.0.0.0:0",
     "starling run: listen.control = \"0.0.0.0:0\": others can reach it, and this node has no "
     "keys; "
     "give it keys with a ticket of starling invite (docs/keys.md), or trust everybody who reaches "
     "it with security.insecure = true"},
    {"run --listen.bulk=0.0.0.0:0",
     "starling run: listen.bulk = \"0.0.0.0:0\": others can reach it, and this node has no keys; "
     "give it keys with a ticket of starling invite (docs/keys.md), or trust everybody who reaches "
     "it with security.insecure = true"},
    {"run --cluster-key none.key",
     "starling run: --cluster-key: there is no none.key; `starling keygen cluster` makes one"},
    {"run --ticket-file none.ticket",
     "starling run: cannot read none.ticket: No such file or directory"},
    {"run --join starling1:AAAA",
     "starling run: --join: this is a ticket, and it is cut off or changed; copy the whole line"},
    {"run --cluster.join=starling1:AAAA",
     "starling run: command line: cluster.join = \"(ticket)\": \"(ticket)\" has no port; expected "
     "HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600"},
    {"run --join starling1:AAAA --join starling1:AAAA",
     "starling run: more than one ticket: a node has one name; expected one --join TICKET, or one "
     "--ticket-file"},
    {"run --security.authorized-keys=none.keys",
     "starling run: security.authorized-keys = \"none.keys\": needs node.data-dir, where the node "
     "keeps its key"},
};

}  // namespace

TEST_CASE("Every mistake about keys is answered word for word") {
  for (const Answer& answer : kAnswers) {
    CAPTURE(answer.arguments);
    const testing::Outcome outcome = testing::run(answer.arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err == std::string(answer.text) + "\n");
    CHECK(outcome.out.empty());
  }
}
