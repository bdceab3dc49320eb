#include "daemon/rest/api.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "tests/base/test_key.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

HttpRequest get(const std::string& target, const std::string& query = "") {
  return {.method = "GET", .target = target, .query = query, .host = "127.0.0.1:7680"};
}

HttpRequest post(const std::string& target, const std::string& body) {
  return {.method = "POST",
          .target = target,
          .body = body,
          .host = "127.0.0.1:7680",
          .content_type = body.empty() ? "" : "application/json"};
}

json parsed(const HttpResponse& response) {
  return json::parse(response.content());
}

std::string code_of(const HttpResponse& response) {
  return parsed(response).at("error").at("code");
}

// The response, once it is there.
HttpResponse settled(HttpResponse response) {
  while (response.later) {
    const HttpLater later = response.later;
    if (auto found = later())
      response = *std::move(found);
    else
      std::this_thread::yield();
  }
  return response;
}

Handler settled_api(Board& board, ApiOptions options = {}) {
  return [api = make_api(board, default_settings(), std::move(options))](
             const HttpRequest& request) { return settled(api(request)); };
}

Result<models::ModelCard> describe_line(const std::string&) {
  return models::ModelCard{.kind = models::ModelKind::linear,
                           .shape = models::dense_network({1, 1}),
                           .source = models::Source::houses,
                           .classes = 0,
                           .table = {}};
}

struct Fixture {
  Board board;
  Handler api = settled_api(board);

  void publish(const Snapshot& snapshot) {
    board.publish(std::make_shared<const Snapshot>(snapshot));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "A resource that does not exist is not found") {
  publish(example_snapshot());
  for (const char* target : {"/none", "/v1", "/v1/fleets", "/v1/status/", "", "/../etc"}) {
    const HttpResponse response = api(get(target));
    CHECK(response.status == 404);
    CHECK(code_of(response) == "not_found");
    CHECK(parsed(response)["error"].contains("message"));
  }
}

TEST_CASE_FIXTURE(Fixture, "A checkpoint may be the first request that a node gets") {
  CHECK(code_of(api(post("/v1/checkpoint", ""))) == "starting");
  Snapshot snapshot = example_snapshot();
  snapshot.status.checkpoint.is_kept = false;
  publish(snapshot);
  CHECK(code_of(api(post("/v1/checkpoint", ""))) == "not_kept");
}

TEST_CASE_FIXTURE(Fixture, "A body that is nested deeper than any document is refused") {
  publish(example_snapshot());
  const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
  board.set_describer(describe_line);
  board.set_wake([&] {
    if (board.is_model_wanted())
      board.publish_model(std::make_shared<const Model>(Model{{0.5, -2}}));
  });
  CHECK(code_of(api(post("/v1/predict", R"({"rows": )" + deep + "}"))) == "bad_request");
  CHECK(code_of(api(post("/v1/join", R"({"address": )" + deep + "}"))) == "bad_request");
}

// Whoever is woken answers at once.
TEST_CASE_FIXTURE(Fixture, "The model is made when it is asked for and not kept") {
  publish(example_snapshot());
  CHECK(code_of(api(get("/v1/model"))) == "busy");
  int made = 0;
  board.set_wake([&] {
    if (board.is_wanted()) publish(example_snapshot());
    if (!board.is_model_wanted()) return;
    ++made;
    board.publish_model(std::make_shared<const Model>(Model{{0.5, -2}}));
  });
  CHECK(made == 0);
  CHECK(code_of(api(get("/v1/model"))) == "not_founded");
  board.set_describer(describe_line);
  for (int asked = 2; asked <= 3; ++asked) {
    const HttpResponse response = api(get("/v1/model"));
    CHECK(made == asked);
    CHECK(response.status == 200);
    CHECK(response.content_type == "application/vnd.safetensors");
    const std::size_t length = static_cast<unsigned char>(response.body[0]) +
                               256U * static_cast<unsigned char>(response.body[1]);
    const json head = json::parse(response.body.substr(8, length));
    CHECK((8 + length) % 8 == 0);
    CHECK(head["layer0.weight"]["dtype"] == "F32");
    CHECK(head["layer0.weight"]["shape"] == json{1, 1});
    CHECK(head["layer0.weight"]["data_offsets"] == json{0, 4});
    CHECK(head["layer0.bias"]["shape"] == json{1});
    CHECK(head["layer0.bias"]["data_offsets"] == json{4, 8});
    CHECK(head["__metadata__"]["node"] == "node-0");
    CHECK(response.body.substr(8 + length) == std::string("\0\0\0\x3f\0\0\0\xc0", 8));
  }
}

TEST_CASE_FIXTURE(Fixture, "All who wait for the model get the same copy of it") {
  publish(example_snapshot());
  board.set_describer(describe_line);
  board.set_wake([&] {
    if (board.is_wanted()) publish(example_snapshot());
  });
  const Handler unsettled = make_api(board, default_settings());
  const HttpResponse first = unsettled(get("/v1/model")), second = unsettled(get("/v1/model"));
  REQUIRE(first.later);
  REQUIRE(second.later);
  CHECK_FALSE(first.later().has_value());
  CHECK(board.is_model_wanted());
  const auto model = std::make_shared<const Model>(Model{{0.5, -2}});
  board.publish_model(model);
  CHECK_FALSE(board.is_model_wanted());
  CHECK(settled(first).status == 200);
  CHECK(settled(second).body == settled(first).body);
}

TEST_CASE_FIXTURE(Fixture, "Every resource answers its own method and no other") {
  publish(example_snapshot());
  for (const char* target : {"/healthz", "/readyz", "/v1/status", "/v1/fleet", "/v1/members",
                             "/v1/neighbors", "/v1/topology", "/v1/convergence", "/v1/config"}) {
    const HttpResponse response = api(get(target));
    CHECK(response.status == 200);
    CHECK(response.content_type == "application/json");
    CHECK(parsed(response).is_object());
    const HttpResponse refusal = api(post(target, "{}"));
    CHECK(refusal.status == 405);
    CHECK(refusal.fields.front().second == "GET, HEAD");
  }
  CHECK(api(get("/v1/join")).status == 405);
  CHECK(api(get("/v1/leave")).fields.front().second == "POST");
}

TEST_CASE_FIXTURE(Fixture, "Settings of a running node are taken all at once or none") {
  publish(example_snapshot());
  CHECK(parsed(api(get("/v1/settings")))["eval.every"]["value"] == "10");
  for (const char* wrong :
       {R"({"eval.every": 0})", R"({"eval.every": 5, "node.log": "loud"})",
        R"({"eval.every": 5, "optim.seed": 1})", R"({"eval.every": 5, "node.name": "other"})",
        R"({"eval.every": [5]})", "{}", "[]"}) {
    CAPTURE(wrong);
    const HttpResponse refusal = api(post("/v1/settings", wrong));
    CHECK(refusal.status == 400);
    CHECK(board.take_commands().empty());
    CHECK(parsed(api(get("/v1/settings")))["eval.every"]["value"] == "10");
  }
  REQUIRE(api(post("/v1/settings", R"({"eval.every": 5, "checkpoint.every": "10m"})")).status ==
          202);
  const auto commands = board.take_commands();
  REQUIRE(commands.size() == 1);
  const auto* command = std::get_if<gossip::ConfigureCommand>(&commands[0]);
  REQUIRE(command);
  CHECK(command->own == std::vector<Term>{{"checkpoint.every", "10m"}, {"eval.every", "5"}});
  CHECK(command->agreed.empty());
  CHECK(api({.method = "DELETE", .target = "/v1/settings"}).fields.front().second == "GET, POST");
}

TEST_CASE_FIXTURE(Fixture, "Agreed settings are asked for from a coming round on") {
  publish(example_snapshot());
  const auto set_at = [this](const char* round, const char* body) {
    HttpRequest request = post("/v1/settings", body);
    request.query = std::string("at-round=") + round;
    return api(request);
  };
  const char* const rate = R"({"optim.learning-rate": 0.05, "eval.every": 2})";
  CHECK(set_at("42", rate).body.find("expected a round from 43 to 65578") != std::string::npos);
  for (const char* wrong : {"soon", "-1", "70000", ""}) CHECK(set_at(wrong, rate).status == 400);
  CHECK(set_at("50", R"({"eval.every": 2})").status == 400);
  REQUIRE(set_at("50", rate).status == 202);
  const auto commands = board.take_commands();
  const auto* command = std::get_if<gossip::ConfigureCommand>(&commands.at(0));
  REQUIRE(command);
  CHECK(command->agreed == std::vector<Term>{{"optim.learning-rate", "0.05"}});
  CHECK(command->own == std::vector<Term>{{"eval.every", "2"}});
  CHECK(command->at_round == 50);
}

TEST_CASE_FIXTURE(Fixture, "Only an operator sets what all nodes agree on") {
  Snapshot snapshot = example_snapshot();
  const KeyPair cluster = test::test_key(1), own = test::test_key(2);
  gossip::Certificate draft{.name = "node-0", .key = own.public_key(), .not_after = 1};
  for (const bool is_operator : {false, true}) {
    draft.group = is_operator ? "operator" : "nurses";
    snapshot.security.certificate = *gossip::sign_certificate(draft, cluster);
    publish(snapshot);
    CHECK(api(post("/v1/settings", R"({"optim.learning-rate": 0.05})")).status ==
          (is_operator ? 202 : 403));
    CHECK(api(post("/v1/settings", R"({"eval.every": 2})")).status == 202);
  }
}

TEST_CASE_FIXTURE(Fixture, "The metrics are text and count the events of the board") {
  CHECK(api(get("/metrics")).status == 503);
  publish(example_snapshot());
  board.add(Time(), {gossip::Event::Kind::died, "node-3 is dead"});
  const HttpResponse response = api(get("/metrics"));
  CHECK(response.status == 200);
  CHECK(response.content_type == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(response.body.find("\nstarling_round 42\n") != std::string::npos);
  CHECK(response.body.find("\nstarling_events_total{kind=\"died\"} 1\n") != std::string::npos);
  CHECK(api(post("/metrics", "{}")).status == 405);
}

TEST_CASE_FIXTURE(Fixture, "A node that has not started is healthy and not ready") {
  CHECK(api(get("/healthz")).status == 200);
  CHECK(api(get("/readyz")).status == 503);
  CHECK(parsed(api(get("/readyz")))["reasons"].size() == 1);
  CHECK(api(get("/v1/status")).status == 503);
  CHECK(code_of(api(get("/v1/status"))) == "starting");
  CHECK(parsed(api(get("/v1/convergence"))) ==
        json{{"series", json::array()}, {"fleet", json::array()}});
}

TEST_CASE_FIXTURE(Fixture, "A node is ready when it trains or has finished") {
  using gossip::State;
  Snapshot snapshot = example_snapshot();
  for (const State state : {State::training, State::degraded, State::finished}) {
    snapshot.status.state = state;
    publish(snapshot);
    CHECK(api(get("/readyz")).status == 200);
    CHECK(parsed(api(get("/readyz")))["reasons"] == json{"one member is dead"});
  }
  for (const State state : {State::starting, State::joining, State::leaving}) {
    snapshot.status.state = state;
    publish(snapshot);
    CHECK(api(get("/readyz")).status == 503);
    CHECK(parsed(api(get("/readyz")))["reasons"].size() == 2);
  }
}

TEST_CASE_FIXTURE(Fixture, "The topology comes as JSON or DOT") {
  publish(example_snapshot());
  const HttpResponse dot = api(get("/v1/topology", "format=dot"));
  CHECK(dot.content_type.starts_with("text/vnd.graphviz"));
  CHECK(dot.body.starts_with("graph starling {"));
  CHECK(api(get("/v1/topology", "format=json")).status == 200);
  CHECK(api(get("/v1/topology", "format=png")).status == 400);
}

TEST_CASE_FIXTURE(Fixture, "A series that has not grown is not sent again") {
  board.add(example_point(1));
  const HttpResponse first = api(get("/v1/convergence"));
  const auto etag =
      std::ranges::find(first.fields, "ETag", &std::pair<std::string, std::string>::first);
  REQUIRE(etag != first.fields.end());
  HttpRequest again = get("/v1/convergence");
  again.if_none_match = "\"0\", " + etag->second;
  CHECK(api(again).status == 304);
  CHECK(api(again).body.empty());
  board.add(example_point(2));
  CHECK(api(again).status == 200);
  HttpRequest wrong = get("/v1/convergence", "since=x");
  wrong.if_none_match = "*";
  CHECK(api(wrong).status == 400);
}

TEST_CASE_FIXTURE(Fixture, "The series begins above the round asked for") {
  for (std::uint64_t round = 0; round <= 10; ++round) board.add(example_point(round));
  CHECK(parsed(api(get("/v1/convergence")))["series"].size() == 11);
  CHECK(parsed(api(get("/v1/convergence")))["series"][0]["round"] == 0);
  CHECK(parsed(api(get("/v1/convergence", "since=0")))["series"].size() == 10);
  const json late = parsed(api(get("/v1/convergence", "x=1&since=7")))["series"];
  REQUIRE(late.size() == 3);
  CHECK(late[0]["round"] == 8);
  CHECK(parsed(api(get("/v1/convergence", "since=9223372036854775807")))["series"].empty());
  for (const char* query : {"since=", "since=-1", "since=1.5", "since=99999999999999999999"})
    CHECK(api(get("/v1/convergence", query)).status == 400);
}

TEST_CASE_FIXTURE(Fixture, "What was known of all nodes stands beside the series of the node") {
  gossip::FleetStatus fleet;
  fleet.extremes_age = from_seconds(3);
  for (std::uint64_t round = 0; round <= 10; ++round) {
    gossip::Progress point = example_point(round);
    point.time_s = static_cast<double>(round);
    fleet.spreads[0] = gossip::Spread{.mean = 0.5 + point.time_s, .least = 0.25, .most = 20};
    board.add(point, fleet);
  }
  const json known = parsed(api(get("/v1/convergence")))["fleet"];
  CHECK(known.size() == 6);  // every two seconds
  CHECK(known[5] == json{{"round", 10},
                         {"time_s", 10.0},
                         {"age_s", 3.0},
                         {"loss", {{"mean", 10.5}, {"min", 0.25}, {"max", 20.0}}}});
  CHECK(parsed(api(get("/v1/convergence", "since=7")))["fleet"].size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "Commands are left on the board") {
  const HttpResponse join = api(post("/v1/join", R"({"address":"10.0.0.7:7600"})"));
  CHECK(join.status == 202);
  CHECK(join.body == "{}");
  CHECK(api(post("/v1/leave", "")).status == 202);
  CHECK(api(post("/v1/leave", "{}")).status == 202);
  CHECK(api(post("/v1/pause", "")).status == 202);
  CHECK(api(post("/v1/resume", "{}")).status == 202);
  const auto commands = board.take_commands();
  REQUIRE(commands.size() == 4);
  CHECK(std::get<gossip::JoinCommand>(commands[0]).seed == Endpoint{"10.0.0.7", 7600});
  CHECK(std::holds_alternative<gossip::LeaveCommand>(commands[1]));
  CHECK(std::holds_alternative<gossip::ResumeCommand>(commands[3]));
}

TEST_CASE_FIXTURE(Fixture, "A command that is not understood is refused and leaves nothing") {
  const std::string deep(60'000, '[');
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string(R"({"address":7})"), std::string(R"({"address":"nowhere"})"),
        std::string(R"({"address":"a:0"})"), std::string(R"({"address":"a b:7600"})"),
        std::string("{\"address\":\"\xff:1\"}"), deep}) {
    HttpRequest request = post("/v1/join", body);
    request.content_type = "application/json";
    CHECK(api(request).status == 400);
  }
  HttpRequest untyped = post("/v1/join", R"({"address":"a:1"})");
  untyped.content_type = "text/plain";
  CHECK(api(untyped).status == 415);
  CHECK(api(post("/v1/leave", "[")).status == 400);
  CHECK(board.take_commands().empty());
  untyped.content_type = "application/json; charset=utf-8";
  CHECK(api(untyped).status == 202);
}

TEST_CASE_FIXTURE(Fixture, "Too many commands are refused") {
  for (std::size_t k = 0; k < kCommandsLimit; ++k) CHECK(api(post("/v1/leave", "")).status == 202);
  CHECK(api(post("/v1/leave", "")).status == 503);
}

TEST_CASE_FIXTURE(Fixture, "A page of another site cannot change the node") {
  HttpRequest request = post("/v1/leave", "");
  request.origin = "http://evil.example";
  CHECK(api(request).status == 403);
  request.origin = "null";
  CHECK(api(request).status == 403);
  request.origin = "http://127.0.0.1:7680";
  CHECK(api(request).status == 202);
  for (const char* origin : {"", "http://127.0.0.1:7680"}) {
    request.origin = origin;
    for (const char* site : {"cross-site", "same-site"}) {
      request.sec_fetch_site = site;
      CHECK(api(request).status == 403);
    }
    for (const char* site : {"same-origin", "none"}) {
      request.sec_fetch_site = site;
      CHECK(api(request).status == 202);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "A token guards changes and reading where asked for") {
  publish(example_snapshot());
  api = settled_api(board, {.token = "secret"});
  HttpRequest leave = post("/v1/leave", "");
  CHECK(api(leave).status == 401);
  for (const char* wrong :
       {"Bearer secres", "Bearer secret2", "Bearer ", "secret", "Basic secret"}) {
    leave.authorization = wrong;
    CHECK(api(leave).status == 401);
  }
  leave.authorization = "Bearer secret";
  CHECK(api(leave).status == 202);
  CHECK(api(get("/v1/status")).status == 200);
  api = settled_api(board, {.token = "secret", .guard_reads = true});
  CHECK(api(get("/v1/status")).status == 401);
  CHECK(api(get("/metrics")).status == 401);
  CHECK(api(get("/healthz")).status == 200);
}
