// A crowd of founders learns all surveys: direct tests of SurveyExchange, messages carried by hand.
#include "gossip/node/survey_exchange.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/gossip/party.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

struct Founder {
  explicit Founder(int index)
      : options(party_options(index)),
        outbox(1, node_id(options.name), 1),
        surveys(options),
        member(sample_member(options.name)) {
    member.control = options.control;
    surveys.set_own("of " + options.name);
    outbox.begin(out);
  }

  Options options;
  std::vector<Output> out;
  Outbox outbox;
  SurveyExchange surveys;
  Member member;
};

struct Crowd {
  Crowd(int size, double lost) : loss(lost) {
    for (int k = 0; k < size; ++k) founders.push_back(std::make_unique<Founder>(k));
    for (const auto& founder : founders) members.push_back(&founder->member);
  }
  // Every founder that lacks a survey tells others; all that is said arrives, or is lost.
  void turn() {
    for (const auto& founder : founders) founder->surveys.tell(members, false, founder->outbox);
    for (bool said = true; said;) {
      said = false;
      for (const auto& founder : founders)
        for (Output& output : std::exchange(founder->out, {})) {
          const auto* send = std::get_if<Send>(&output);
          if (!send) continue;
          said = true;
          const Surveys& message = std::get<Surveys>(send->message.body);
          ++messages;
          copies += message.surveys.size();
          if (prng.uniform() < loss) continue;
          const auto to = std::ranges::find(founders, send->to,
                                            [](const auto& other) { return other->member.id; });
          (*to)->surveys.receive(message, founder->member.id, members, false, (*to)->outbox);
        }
    }
  }
  bool is_done() const {
    return std::ranges::all_of(
        founders, [&](const auto& founder) { return founder->surveys.has_all(members); });
  }

  double loss;
  Prng prng{7};
  std::vector<std::unique_ptr<Founder>> founders;
  std::vector<const Member*> members;
  std::size_t messages = 0, copies = 0;
};

}  // namespace

TEST_CASE("A crowd learns all surveys in few turns though no founder tells all others") {
  for (const double loss : {0.0, 0.3}) {
    CAPTURE(loss);
    constexpr int kFounders = 100;
    Crowd crowd(kFounders, loss);
    int turns = 0;
    while (!crowd.is_done() && turns < 20) crowd.turn(), ++turns;
    CHECK(crowd.is_done());
    CHECK(turns <= (loss > 0 ? 10 : 5));
    // Each founder must get the surveys of all others once; told directly, it takes one turn and as
    // many messages as copies.
    constexpr std::size_t kPairs = kFounders * (kFounders - 1);
    INFO(turns << " turns, " << static_cast<double>(crowd.messages) / kFounders
               << " messages a founder, " << static_cast<double>(crowd.copies) / kPairs
               << " copies a pair");
    CHECK(crowd.messages < kPairs / 2);
    CHECK(crowd.copies < 3 * kPairs);
    for (const auto& founder : crowd.founders)
      CHECK(founder->surveys.of(crowd.members) ==
            crowd.founders.front()->surveys.of(crowd.members));
  }
}

TEST_CASE("Few founders tell each other directly and relay only when asked to") {
  Crowd crowd(3, 0);
  Founder& first = *crowd.founders.front();
  first.surveys.receive(Surveys{{}, {{node_id("node-1"), "of node-1"}}}, node_id("node-1"),
                        crowd.members, false, first.outbox);
  const auto told = [&](bool relays) {
    first.surveys.tell(crowd.members, relays, first.outbox);
    std::size_t copies = 0;
    for (const Output& output : std::exchange(first.out, {}))
      copies += std::get<Surveys>(std::get<Send>(output).message.body).surveys.size();
    return copies;
  };
  CHECK(told(false) == 2);
  CHECK(told(true) == 3);
}
