#include "daemon/legality.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/config.h"

using namespace starling;

namespace {

// What is wrong with these keys; empty where nothing is.
std::string verdict(std::vector<std::pair<std::string, std::string>> keys) {
  const auto settings = load_settings(daemon::schema(), {}, keys);
  REQUIRE(settings);
  const auto config = daemon::read_config(*settings, {});
  return config ? "" : config.error().text;
}

void refuses(const std::vector<std::pair<std::string, std::string>>& keys,
             const std::string& reason, const std::string& instead) {
  const std::string text = verdict(keys);
  CAPTURE(text);
  CHECK(text.find(reason) != std::string::npos);
  CHECK(text.find(instead) != std::string::npos);
}

}  // namespace

TEST_CASE("What does not go together is refused with its reason and the nearest choice") {
  refuses({{"optim.algorithm", "qg"}, {"optim.local-optimizer", "adam"}}, "momentum of its own",
          "use sgd");
  refuses({{"optim.algorithm", "ed"}, {"optim.local-optimizer", "adam"}}, "biased", "gt");
  for (const std::string algorithm : {"ed", "gt"}) {
    refuses({{"optim.algorithm", algorithm}, {"exchange.missing", "reuse"}}, algorithm, "use late");
    refuses({{"optim.algorithm", algorithm}, {"topology.kind", "exponential"}}, "one way",
            "hypercube");
  }
}

TEST_CASE("What goes together is not refused") {
  for (const std::string algorithm : {"dpsgd", "dpsgd-pipelined", "qg", "ed", "gt"})
    CHECK(verdict({{"optim.algorithm", algorithm}}).empty());
  CHECK(verdict({{"optim.algorithm", "gt"}, {"optim.local-optimizer", "adam"}}).empty());
  CHECK(verdict({{"optim.algorithm", "ed"}, {"optim.local-optimizer", "momentum"}}).empty());
  CHECK(verdict({{"optim.algorithm", "dpsgd"}, {"topology.kind", "exponential"}}).empty());
}
