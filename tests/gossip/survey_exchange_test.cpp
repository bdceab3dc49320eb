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
  explicit Founder(int index, bool has_keys = false)
      : options(has_keys ? keyed_options(index) : party_options(index)),
        outbox(1, node_id(options.name), 1, options.credentials),
        surveys(options),
        member(sample_member(options.name)) {
    member.control = options.control;
    member.incarnation = 1;
    surveys.set_own("of " + options.name);
    outbox.begin(out);
    Body join = Join{member};
    outbox.notary().sign(join);
    member = std::get<Join>(join).self;
  }
  void meet(const Founder& other) { REQUIRE(outbox.notary().verify(other.member)); }
  void hear(const Surveys& message, const Founder& from, const SurveyExchange::Founders& all) {
    surveys.receive(message, from.member.id, all, false, outbox);
  }
  // The survey as it says it now.
  Survey own() {
    Body body = Surveys{{}, {{member.id, member.incarnation, "of " + options.name}}};
    outbox.notary().sign(body);
    return std::get<Surveys>(body).surveys.front();
  }

  Options options;
  std::vector<Output> out;
  Outbox outbox;
  SurveyExchange surveys;
  Member member;
};

struct Crowd {
  Crowd(int size, double lost, bool has_keys = false) : loss(lost) {
    for (int k = 0; k < size; ++k) founders.push_back(std::make_unique<Founder>(k, has_keys));
    for (const auto& founder : founders) members.push_back(&founder->member);
    for (const auto& founder : founders)
      for (const auto& other : founders) founder->meet(*other);
  }
  Founder& operator[](std::size_t k) { return *founders[k]; }
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
          (*to)->hear(message, *founder, members);
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
  Founder& first = crowd[0];
  first.hear(Surveys{{}, {crowd[1].own()}}, crowd[1], crowd.members);
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

TEST_CASE(
    "A founder that restarts replaces its earlier survey at all others though some relay it") {
  for (const int founders : {3, 30}) {
    Crowd crowd(founders, 0);
    for (int turn = 0; turn < 5; ++turn) crowd.turn();
    REQUIRE(crowd.is_done());
    crowd[1].member.incarnation = 2;
    crowd[1].outbox.set_incarnation(2);
    crowd[1].surveys.set_own("anew");
    CHECK(!crowd[0].surveys.has_all(crowd.members));
    int turns = 0;
    while (!crowd.is_done() && turns < 10) crowd.turn(), ++turns;
    for (const auto& founder : crowd.founders)
      CHECK(founder->surveys.of(crowd.members)[1] == "anew");
  }
}

TEST_CASE("With keys a member can say nothing of what another founder found") {
  Crowd crowd(4, 0, true);
  Survey true_one = crowd[1].own();
  const auto differ = [&](auto change) {
    Survey false_one = true_one;
    change(false_one);
    return false_one;
  };
  const Survey lies[] = {
      differ([](Survey& survey) { survey.statistics = "other"; }),
      differ([](Survey& survey) { ++survey.incarnation; }),
      differ([](Survey& survey) { survey.signature.clear(); }),
      differ([](Survey& survey) { survey.signature.front() ^= 1; }),
      differ([&](Survey& survey) { survey.founder = crowd[2].member.id; }),
      differ([&](Survey& survey) {  // by the key of the liar
        Body body = Surveys{{}, {crowd[3].own()}};
        survey.signature = std::get<Surveys>(body).surveys.front().signature;
      }),
  };
  for (const Survey& lie : lies) {
    crowd[0].hear(Surveys{{}, {lie}}, crowd[3], crowd.members);
    CHECK(crowd[0].surveys.of(crowd.members).size() == 1);
    CHECK(crowd[0].outbox.notary().take_refusals() == std::vector<std::string>{"survey"});
  }
  // Nor in the life of the founder that follows.
  crowd[0].hear(Surveys{{}, {true_one}}, crowd[3], crowd.members);
  CHECK(crowd[0].surveys.of(crowd.members).size() == 2);
  crowd[1].member.incarnation = 2;
  crowd[1].outbox.set_incarnation(2);
  for (int turn = 0; turn < 5 && !crowd.is_done(); ++turn) {
    crowd.turn();
    crowd[0].hear(Surveys{{}, {true_one}}, crowd[3], crowd.members);
  }
  CHECK(crowd.is_done());
  CHECK(crowd[0].outbox.notary().take_refusals().empty());
}
