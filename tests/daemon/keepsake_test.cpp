#include "daemon/attach/keepsake.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/daemon/trainer_client.h"

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::TrainerClient;
using testing::TrainerPlan;

namespace {

// Two numbers that are exchanged and a counter of the donor's behind them.
const TrainerPlan kPlan{
    .numbers = 16,
    .table = R"([{"name":"x","shape":[2],"dtype":"f64","role":"averaged","offset":0},)"
             R"({"name":"count","shape":[],"dtype":"f64","role":"donor","offset":64}])",
    .hello = {{"saves", true}}};
constexpr std::size_t kCount = 8;  // the place of the counter among the numbers

// A trainer that answers every request in a thread of its own, until the port ends the session.
struct Visit {
  Visit(const std::string& path, double count, std::string state)
      : client(std::make_unique<TrainerClient>(path, kPlan)) {
    client->values()[kCount] = count;
    client->say_hello();
    served = std::async(std::launch::async, [this, own = std::move(state)] {
      for (json record = client->receive(); record.is_object(); record = client->receive()) {
        const json done = {{"kind", "done"}, {"job", record.value("job", 0)}};
        if (record["kind"] == "save") client->send_file(done, own), ++saves;
        if (record["kind"] == "step") client->send(done);
        if (record["kind"] != "load") continue;
        loaded = client->received_file();
        is_own = record["own"];
        loads += (is_own ? "own " : "") + *loaded + "; ";
        client->send(done);
      }
    });
  }

  std::unique_ptr<TrainerClient> client;
  std::optional<std::string> loaded;
  bool is_own = false;  // the last
  std::string loads;    // all
  int saves = 0;
  std::future<void> served;
};

struct Fixture {
  Fixture() { open(); }
  void open() {
    static std::atomic<int> count = 0;
    port.reset();
    path = std::filesystem::temp_directory_path() /
           ("starling-keepsake-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    auto opened = TrainerPort::open(path, {.welcome = {.node = "n", .algorithm = "dpsgd"}});
    REQUIRE(opened.has_value());
    port = *std::move(opened);
  }
  Keepsake keepsake(SavePlan plan) {
    return {*port, plan, [this] { return now; }};
  }
  // The trainer, greeted; one that is there already is asked to go before.
  std::shared_ptr<const Attached> greet(Keepsake& keepsake) const {
    auto trainer = port->await(20s);
    REQUIRE(trainer);
    keepsake.greet(trainer);
    return trainer;
  }

  std::string path;
  std::unique_ptr<TrainerPort> port;
  Time now{1h};
};

// The trainer says goodbye, and the port has heard it.
void leave(Visit& visit, TrainerPort& port, const Attached& trainer) {
  visit.client->send({{"kind", "close"}});
  CHECK_FALSE(port.ask(trainer, StepRequest{}).has_value());
  visit.served.wait();
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "A trainer that comes back finds what the one before it left") {
  Keepsake keepsake = this->keepsake({.every = 60s});
  {
    Visit first(path, 41, "moments of the first");
    const auto trainer = greet(keepsake);
    CHECK_FALSE(first.loaded.has_value());
    first.client->values()[kCount] = 42;
    CHECK(port->ask(*trainer, StepRequest{}).has_value());
    keepsake.keep(*trainer);
    CHECK(port->status().saved_bytes == 20);
    leave(first, *port, *trainer);
  }
  Visit second(path, 0, "moments of the second");
  const auto trainer = greet(keepsake);
  keepsake.greet(trainer);  // once is enough
  CHECK(second.client->values()[kCount] == 42);
  leave(second, *port, *trainer);
  CHECK(second.loaded == "moments of the first");
  CHECK(second.is_own == true);
}

TEST_CASE_FIXTURE(Fixture, "A state is saved when it is due and not before") {
  Keepsake keepsake = this->keepsake({.every = 60s});
  Visit visit(path, 1, "state");
  const auto trainer = greet(keepsake);
  for (const Duration later : {0s, 59s, 1s}) {
    now += later;
    keepsake.keep(*trainer);
  }
  leave(visit, *port, *trainer);
  CHECK(visit.saves == 2);
  CHECK(port->status().exchanges == 0);
  Keepsake never = this->keepsake({.every = 0s});
  Visit other(path, 1, "state");
  const auto another = greet(never);
  never.keep(*another);
  leave(other, *port, *another);
  CHECK(never.share(optim::Heir::newcomer).size() == 8 + 8);
}

TEST_CASE_FIXTURE(Fixture,
                  "A newcomer's trainer gets the counters of its donor and what is shared") {
  for (const bool is_shared : {false, true}) {
    CAPTURE(is_shared);
    open();
    Keepsake donor = keepsake({.every = 60s, .is_shared = is_shared});
    Visit visit(path, 7, "moments");
    const auto trainer = greet(donor);
    donor.keep(*trainer);
    leave(visit, *port, *trainer);
    const Payload shared = donor.share(optim::Heir::newcomer);
    CHECK(shared.size() == 16 + (is_shared ? 7 : 0));
    CHECK(shared.size() <= Keepsake::share_limit(*trainer));

    Keepsake newcomer = keepsake({.every = 0s, .is_shared = is_shared});
    newcomer.adopt(shared, optim::Heir::newcomer);
    Visit other(path, 0, "");
    const auto another = greet(newcomer);
    CHECK(other.client->values()[kCount] == 7);
    leave(other, *port, *another);
    CHECK(other.loaded.has_value() == is_shared);
    if (!is_shared) continue;
    CHECK(other.loaded == "moments");
    CHECK(other.is_own == false);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "A node that comes back to a run has its own state and its donor's counters") {
  const auto saved = [&](double count, const char* state, optim::Heir heir) {
    open();
    Keepsake keepsake = this->keepsake({.every = 60s, .is_shared = true});
    Visit visit(path, count, state);
    const auto trainer = greet(keepsake);
    keepsake.keep(*trainer);
    leave(visit, *port, *trainer);
    return keepsake.share(heir);
  };
  const Payload own = saved(3, "moments of then", optim::Heir::self);
  const Payload donors = saved(7, "moments of the donor", optim::Heir::newcomer);
  for (const bool is_shared : {false, true}) {
    CAPTURE(is_shared);
    open();
    Keepsake keepsake = this->keepsake({.every = 0s, .is_shared = is_shared});
    keepsake.adopt(donors, optim::Heir::newcomer);
    keepsake.adopt(own, optim::Heir::back);
    Visit visit(path, 0, "");
    const auto trainer = greet(keepsake);
    CHECK(visit.client->values()[kCount] == 7);
    leave(visit, *port, *trainer);
    const std::string shared = is_shared ? "moments of the donor; " : "";
    CHECK(visit.loads == "own moments of then; " + shared);
  }
}

TEST_CASE_FIXTURE(Fixture, "Shared bytes that are too short or of other tensors change nothing") {
  Keepsake keepsake = this->keepsake({.every = 0s});
  const auto bytes = [](std::uint64_t size, std::size_t follow) {
    std::vector<std::byte> text(sizeof(size) + follow, std::byte{1});
    std::memcpy(text.data(), &size, sizeof(size));
    return Payload::copy_of(text);
  };
  for (const Payload& shared : {Payload(), bytes(9, 8), bytes(UINT64_MAX, 8), bytes(4, 4),
                                Payload::copy_of(std::vector<std::byte>(7))}) {
    keepsake.adopt(shared, optim::Heir::newcomer);
    Visit visit(path, 5, "");
    const auto trainer = greet(keepsake);
    CHECK(visit.client->values()[kCount] == 5);
    leave(visit, *port, *trainer);
  }
}

TEST_CASE_FIXTURE(Fixture, "A state that could change or is too large ends the session") {
  for (const bool is_large : {false, true}) {
    CAPTURE(is_large);
    open();
    TrainerClient client(path, kPlan);
    client.say_hello();
    const auto trainer = port->await(20s);
    REQUIRE(trainer);
    auto answer = std::async([&] { return port->ask(*trainer, SaveRequest{}); });
    CHECK(client.receive()["kind"] == "welcome");
    const json request = client.receive();
    CHECK(request["kind"] == "save");
    const std::size_t size = is_large ? state_limit(*trainer) + 1 : 10;
    client.send_file({{"kind", "done"}, {"job", request["job"]}}, std::string(size, 'x'), is_large);
    CHECK_FALSE(answer.get().has_value());
    const std::string reason = client.receive().value("reason", "");
    CHECK(reason.find(is_large ? "expected at most" : "not sealed") != std::string::npos);
    CHECK(port->status().state == TrainerStatus::State::lost);
  }
}
