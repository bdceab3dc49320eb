#include "daemon/attach/trainer_port.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "daemon/process/descriptors.h"
#include "tests/daemon/trainer_client.h"

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::TrainerClient;
using testing::TrainerPlan;

namespace {

struct Fixture {
  explicit Fixture(TrainerTerms terms = {.welcome = {.node = "node-0", .algorithm = "dpsgd"}}) {
    static std::atomic<int> count = 0;
    path = std::filesystem::temp_directory_path() /
           ("starling-port-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    auto opened = TrainerPort::open(path, std::move(terms));
    REQUIRE(opened.has_value());
    port = *std::move(opened);
  }

  // What a trainer of that plan is answered.
  json answer(const TrainerPlan& plan) {
    TrainerClient client(path, plan);
    client.say_hello();
    return client.receive();
  }
  std::string refusal(const TrainerPlan& plan) {
    const json record = answer(plan);
    CHECK(record["kind"] == "refused");
    return record.value("reason", "");
  }

  std::string path;
  std::unique_ptr<TrainerPort> port;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "A trainer attaches and answers jobs one after another") {
  TrainerClient client(path, {});
  client.say_hello();
  CHECK(client.receive()["kind"] == "welcome");
  const auto trainer = port->await(20s);
  REQUIRE(trainer);
  CHECK(trainer->process == ::getpid());
  CHECK(trainer->table.dimension() == 4);
  for (std::uint64_t job = 1; job <= 3; ++job) {
    auto answer = std::async([&] { return port->ask(*trainer, StepRequest{.count = 7}); });
    const json request = client.receive();
    CHECK(request["kind"] == "step");
    CHECK(request["count"] == 7);
    client.send({{"kind", "done"}, {"job", request["job"]}, {"loss", 0.5}});
    const auto given = answer.get();
    REQUIRE(given.has_value());
    CHECK(given->loss == 0.5);
  }
  CHECK(port->status().exchanges == 3);
}

TEST_CASE_FIXTURE(Fixture, "A trainer that ends while a job is open ends the wait for it") {
  auto client = std::make_unique<TrainerClient>(path, TrainerPlan{});
  client->say_hello();
  const auto trainer = port->await(20s);
  REQUIRE(trainer);
  auto answer = std::async([&] { return port->ask(*trainer, StepRequest{}); });
  CHECK(client->receive()["kind"] == "welcome");
  CHECK(client->receive()["kind"] == "step");
  client.reset();
  CHECK_FALSE(answer.get().has_value());
  CHECK(port->status().state == TrainerStatus::State::lost);
  CHECK(port->await(0ms) == nullptr);
  // Another one takes its place, and the one before cannot be asked any more.
  TrainerClient second(path, {});
  second.say_hello();
  REQUIRE(port->await(20s));
  CHECK_FALSE(port->ask(*trainer, StepRequest{}).has_value());
}

TEST_CASE_FIXTURE(Fixture, "An interrupted wait ends and the end of the run reaches the trainer") {
  TrainerClient client(path, {});
  client.say_hello();
  const auto trainer = port->await(20s);
  REQUIRE(trainer);
  auto answer = std::async([&] { return port->ask(*trainer, StepRequest{}); });
  CHECK(client.receive()["kind"] == "welcome");
  const json request = client.receive();
  CHECK_FALSE(client.is_told_over());
  port->interrupt();
  CHECK_FALSE(answer.get().has_value());
  CHECK(client.is_told_over());
  client.send({{"kind", "done"}, {"job", request["job"]}});
  port->end("over", [&](const Attached&) { return true; });
  const json end = client.receive();
  CHECK(end["kind"] == "end");
  CHECK(end["reason"] == "over");
  CHECK(end["model"] == true);
  CHECK(port->await(0ms) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "A second trainer is refused while the first one is there") {
  TrainerClient client(path, {});
  client.say_hello();
  CHECK(client.receive()["kind"] == "welcome");
  CHECK(has(refusal({}), "node-0 has a trainer already"));
  CHECK(port->status().refused == 1);
  const std::vector<std::string> notes = port->status().notes;
  REQUIRE(notes.size() == 1);
  CHECK(has(notes[0], "a second trainer (process " + std::to_string(::getpid()) + ") was refused"));
  CHECK(port->status().state != TrainerStatus::State::lost);
}

TEST_CASE_FIXTURE(Fixture, "What a trainer notes is kept for a while in a few short lines") {
  TrainerClient client(path, {});
  client.say_hello();
  CHECK(client.receive()["kind"] == "welcome");
  const auto trainer = port->await(20s);
  const std::vector<std::string> texts{"one\ntwo\x1b", std::string(5000, 'x'), "3", "4", "5"};
  for (const std::string& text : texts) client.send({{"kind", "note"}, {"text", text}});
  auto answer = std::async([&] { return port->ask(*trainer, StepRequest{}); });
  client.send({{"kind", "done"}, {"job", client.receive()["job"]}});
  REQUIRE(answer.get().has_value());
  CHECK(port->status().notes ==
        std::vector<std::string>{"the trainer says: one two ",
                                 "the trainer says: " + std::string(1024, 'x'),
                                 "the trainer says: 3", "the trainer says: 4"});
  client.send({{"kind", "note"}});
  CHECK(has(client.receive().value("reason", ""), "has no \"text\""));
}

TEST_CASE("A note is shown for a minute and makes room for another one") {
  TrainerNotes notes;
  for (int k = 0; k < 6; ++k) notes.said.add(Time(1s * k), std::to_string(k));
  notes.refused.add(Time(6s), "a second one");
  CHECK(notes.recent(Time(6s)) == std::vector<std::string>{"a second one", "0", "1", "2", "3"});
  CHECK(notes.recent(Time(62s)) == std::vector<std::string>{"a second one", "2", "3"});
  notes.said.add(Time(62s), "new");
  CHECK(notes.recent(Time(62s)) == std::vector<std::string>{"a second one", "2", "3", "new"});
}

TEST_CASE_FIXTURE(Fixture, "A trainer of another model than the first is refused") {
  {
    TrainerClient client(path, {});
    client.say_hello();
    CHECK(client.receive()["kind"] == "welcome");
    client.send({{"kind", "close"}});
    CHECK(client.receive().is_null());
  }
  const std::string reason = refusal({.numbers = 5});
  CHECK(has(reason, "tensor 0 is \"x 5 averaged\" there and \"x 4 averaged\" here"));
  CHECK(answer({})["kind"] == "welcome");
}

TEST_CASE_FIXTURE(Fixture, "A segment that lies is refused") {
  CHECK(has(refusal({.sealed = false}), "not sealed"));
  CHECK(has(refusal({.with_magic = false}), "does not begin with"));
  CHECK(has(refusal({.with_segment = false}), "no segment came"));
  CHECK(has(refusal({.hello = {{"segment", 1 << 30}}}), "is said to have"));
  CHECK(has(refusal({.hello = {{"segment", 1}}}), "expected 64 to"));
  for (const json& place :
       {json{{"offset", 0}, {"bytes", 8}}, json{{"offset", 65}, {"bytes", 8}},
        json{{"offset", 64}, {"bytes", 1ULL << 62}}, json{{"offset", 1ULL << 62}, {"bytes", 64}},
        json{{"offset", UINT64_MAX - 63}, {"bytes", 64}}}) {
    CAPTURE(place.dump());
    for (const char* region : {"table", "values", "correction"}) {
      CAPTURE(region);
      CHECK(answer({.hello = {{region, place}}})["kind"] == "refused");
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "Regions of a segment that overlap are refused") {
  const json table = {{"offset", 64}, {"bytes", 64}};  // where the table of the plan begins
  for (const char* region : {"correction", "gradient", "batch"}) {
    json place = table;
    if (std::string_view(region) != "batch") place["bytes"] = 4 * sizeof(double);
    CHECK(has(refusal({.hello = {{region, place}}}),
              fmt::format("regions \"table\" and \"{}\" overlap", region)));
  }
  CHECK(has(refusal({.hello = {{"values", {{"offset", 64}, {"bytes", 32}}}}}), "overlap"));
  CHECK(answer({})["kind"] == "welcome");
}

TEST_CASE_FIXTURE(Fixture, "A file that nobody wants is closed whatever it came with") {
  const std::size_t before = count_descriptors().used;
  for (const char* text : {"", "no JSON", R"({"kind":"log","metrics":{}})"})
    for (int k = 0; k < 10; ++k) {
      TrainerClient client(path, {});
      client.send_with(text, STDERR_FILENO);
      while (!client.receive().is_null()) {
      }
    }
  TrainerClient client(path, {});
  client.say_hello();
  CHECK(client.receive()["kind"] == "welcome");
  for (int k = 0; k < 20; ++k) client.send_with(R"({"kind":"log","metrics":{}})", STDERR_FILENO);
  client.send_with("", STDERR_FILENO);
  while (!client.receive().is_null()) {
  }
  // What the port and the client are about to close may still be there.
  CHECK(count_descriptors().used < before + 8);
}

TEST_CASE_FIXTURE(Fixture, "Visitors that say nothing do not keep a trainer out") {
  std::vector<std::unique_ptr<TrainerClient>> silent;
  for (int k = 0; k < 20; ++k)
    silent.push_back(std::make_unique<TrainerClient>(path, TrainerPlan{}));
  CHECK(answer({})["kind"] == "welcome");
  CHECK(has(silent.front()->receive().value("reason", ""), "too many processes"));
}

TEST_CASE_FIXTURE(Fixture, "A trainer that counts what nobody can count is refused") {
  CHECK(has(refusal({.hello = {{"samples", UINT64_MAX}}}), "\"samples\""));
  for (const char* key : {"steps", "samples"}) {
    TrainerClient client(path, {});
    client.say_hello();
    CHECK(client.receive()["kind"] == "welcome");
    client.send({{"kind", "done"}, {"job", 1}, {key, 1ULL << 63}});
    CHECK(has(client.receive().value("reason", ""), key));
  }
}

TEST_CASE_FIXTURE(Fixture, "What is no hello is refused with its reason") {
  CHECK(has(refusal({.hello = {{"version", 2}}}), "version 2"));
  CHECK(has(refusal({.hello = {{"kind", "done"}}}), "not of kind hello"));
  CHECK(has(refusal({.hello = {{"mode", "both"}}}), "expected loop or gradients"));
  CHECK(has(refusal({.hello = {{"mode", "gradients"}, {"samples", 0}}}), "samples"));
  CHECK(has(refusal({.table = "[]"}), "no tensor"));
  CHECK(has(refusal({.table = "nonsense"}), "not a JSON array"));
  TrainerClient silent(path, {});
  silent.send_text(std::string(65'537, 'x'));
  CHECK(has(silent.receive().value("reason", ""), "65536 bytes"));
}

TEST_CASE("A run says what it needs of a trainer") {
  const auto run = [](const char* algorithm, double rate = 0.1) {
    return TrainerTerms{.welcome = {.node = "n", .algorithm = algorithm, .learning_rate = rate},
                        .algorithm = optim::algorithm_named(algorithm)};
  };
  Fixture tracking(run("gt"));
  const std::string refusal = tracking.refusal({.hello = {{"corrects", false}}});
  CHECK(has(refusal, "adds a correction to the gradients"));
  CHECK(has(refusal, "--optim.algorithm=dpsgd"));
  CHECK(tracking.answer({})["kind"] == "welcome");
  Fixture admm(run("admm"));
  CHECK(has(admm.refusal({}), "must serve gradients"));
  CHECK(admm.answer({.hello = {{"mode", "gradients"}}})["kind"] == "welcome");
  Fixture exact(run("ed"));
  CHECK(has(exact.refusal({}), "adds a correction to the parameters"));
  CHECK(has(exact.refusal({.hello = {{"shifts", true}}}), "does not say what its steps are"));
  const json adam = {{"shifts", true}, {"optimizer", "Adam"}};
  CHECK(has(exact.refusal({.hello = adam}), "steps with Adam"));
  CHECK(has(exact.refusal({.hello = {{"shifts", true}, {"steps", "odd"}}}), "expected sgd or"));
  const json linear = {{"shifts", true}, {"steps", "linear"}};
  CHECK(exact.answer({.hello = linear})["kind"] == "welcome");
  CHECK(has(Fixture(run("ed", 0)).refusal({.hello = linear}), "neither optim.learning-rate (0)"));
  Fixture global(run("qg"));
  CHECK(has(global.refusal({.hello = {{"steps", "linear"}}}), "has a momentum"));
  CHECK(has(global.refusal({.hello = {{"steps", "sgd"}}}), "does not tell"));
  const json sgd = {{"steps", "sgd"}, {"learning_rate", 0.5}};
  CHECK(global.answer({.hello = sgd})["kind"] == "welcome");
}

TEST_CASE_FIXTURE(Fixture, "A path where something else is stays as it is") {
  CHECK_FALSE(TrainerPort::open(path, {}).has_value());
  const std::string file = path + ".txt";
  std::ofstream(file) << "mine";
  const auto opened = TrainerPort::open(file, {});
  REQUIRE_FALSE(opened.has_value());
  CHECK(has(opened.error().text, "something else is there"));
  CHECK(std::filesystem::exists(file));
  std::filesystem::remove(file);
  CHECK_FALSE(TrainerPort::open("/tmp/" + std::string(200, 'x'), {}).has_value());
}
