// HTTP: a request as bytes, and what the REST interface makes of its target, fields and body.
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/rest/api.h"
#include "daemon/rest/fleet_json.h"
#include "daemon/rest/host_list.h"
#include "daemon/rest/http_reading.h"
#include "daemon/rest/http_server.h"
#include "daemon/rest/predict_json.h"
#include "daemon/setup/armor.h"
#include "gossip/trust/revocations.h"
#include "tests/daemon/snapshot_example.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/samples.h"

namespace starling::fuzz {
namespace {

using namespace daemon;
using nlohmann::json;

// A node with a model, whose maker answers at once.
struct Node {
  Node() {
    board.set_wake([this] {
      if (board.is_wanted()) publish();
      if (board.is_model_wanted())
        board.publish_model(std::make_shared<const Model>(Model{sample_model().parameters}));
    });
    board.set_describer([](const std::string&) { return sample_model().card; });
    publish();
  }
  void publish() { board.publish(std::make_shared<const Snapshot>(snapshot)); }

  Snapshot snapshot = example_snapshot();
  Board board;
  Handler api = make_api(board, default_settings(), {.token = "secret"});
  HostList hosts{{.host = "127.0.0.1", .port = 7680}, {"node.example"}};
};

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

void expect_sound(const HttpResponse& response) {
  ENSURE(response.status >= 200 && response.status < 600, "a response has a status");
  if (response.stream) {
    response.stream();
    return;
  }
  if (response.content_type != "application/json" || response.status == 304) return;
  const json document = json::parse(response.content(), nullptr, false);
  ENSURE(!document.is_discarded(), "a document is JSON");
  if (response.status < 400 || response.status == 503) return;
  ENSURE(document.contains("error") && !document["error"]["message"].get<std::string>().empty(),
         "a request is refused for a reason");
}

void answer(const HttpRequest& request) {
  static Node node;
  if (!request.host.empty() && !node.hosts.allows(request.host)) return;
  expect_sound(settled(node.api(request)));
  node.board.take_commands();
}

void run_request(Bytes input) {
  const auto reading = read_http_request(text_of(input));
  if (!reading) return;
  if (reading->refusal) return expect_sound(*reading->refusal);
  ENSURE(reading->request.body.size() <= kHttpBodyBytesLimit, "a body is bounded");
  answer(reading->request);
}

constexpr std::string_view kPosts[] = {"/v1/predict", "/v1/join",   "/v1/revocations", "/v1/leave",
                                       "/v1/pause",   "/v1/resume", "/v1/checkpoint"};
constexpr std::string_view kRows =
    R"({"rows": [{"age": 41.5, "job": "nurse"}, {"age": null, "job": ""}]})";

std::vector<std::string> request_seeds() {
  std::vector<std::string> seeds;
  for (const char* target : {"/healthz", "/readyz", "/metrics", "/v1/status", "/v1/fleet",
                             "/v1/members", "/v1/neighbors", "/v1/topology?format=dot",
                             "/v1/convergence?since=3", "/v1/events?since=0&follow=0", "/v1/model",
                             "/v1/trace", "/v1/config", "/", "/page/page.js", "/openapi.json"})
    seeds.push_back(fmt::format("GET {} HTTP/1.1\r\nHost: localhost:7680\r\n\r\n", target));
  for (const std::string_view target : kPosts) {
    const std::string_view body = target == "/v1/predict" ? kRows : R"({"address": "a:1"})";
    seeds.push_back(
        fmt::format("POST {} HTTP/1.1\r\nHost: 127.0.0.1:7680\r\nOrigin: http://127.0.0.1:7680\r\n"
                    "Authorization: Bearer secret\r\nContent-Type: application/json\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    target, body.size(), body));
  }
  seeds.push_back(
      "POST /v1/predict HTTP/1.1\r\nHost: [::1]:7680\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n9\r\n{\"rows\": \r\n3\r\n[]}\r\n0\r\n\r\n");
  seeds.push_back("HEAD /v1/status HTTP/1.0\r\nIf-None-Match: \"x\"\r\n\r\n");
  return seeds;
}

// A body for each resource that takes one, with all fields of the request right.
void run_body(Bytes input) {
  Input in(input);
  const std::string_view target = kPosts[in.below(std::size(kPosts))];
  answer({.method = "POST",
          .target = std::string(target),
          .body = std::string(text_of(in.rest())),
          .host = "127.0.0.1:7680",
          .content_type = "application/json",
          .authorization = "Bearer secret"});
}

std::vector<std::string> body_seeds() {
  const std::vector<gossip::Revocations::Name> names = {{"node-3", 7}};
  const auto list = gossip::revoke({}, names, {}, test::test_key(1));
  const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
  std::vector<std::string> seeds = {
      std::string("\0", 1) + std::string(kRows),
      "\1{\"address\": \"dns:nodes.example:7600\"}",
      "\6{\"fleet\": true}",
      "\3{}",
      std::string("\0", 1) + R"({"rows": )" + deep + "}",
      "\2{\"list\": \"" + std::string(armor(kRevocationsLabel, bytes_of(encode(*list))).text()) +
          "\"}"};
  return seeds;
}

// The body of /v1/predict alone, with models of both kinds.
void run_predict(Bytes input) {
  Input in(input);
  models::TrainedModel model = sample_model();
  if (in.flag()) {
    model.card.kind = models::ModelKind::linear;
    model.card.shape = models::dense_network({4, 1});
    model.card.classes = 0;
    model.card.table->classifies = false;
    model.card.table->classes = {};
    model.card.table->amounts = {.count = 4, .mean = 100, .squares = 16};
    model.parameters = {1, 0.5, -1, 2, 0.25};
  }
  model.card.table->decimal_comma = in.flag();
  const json body = json::parse(text_of(in.rest()), nullptr, false);
  const auto answer = predict_json(std::move(model), body);
  if (!answer) return expect_reason(answer.error());
  ENSURE((*answer)["predictions"].size() == body["rows"].size(), "each row has its prediction");
}

std::vector<std::string> predict_seeds() {
  std::vector<std::string> seeds;
  for (const char* head : {"00", "01", "10", "11"})
    seeds.push_back(std::string(head) + std::string(kRows));
  return seeds;
}

}  // namespace

std::vector<Target> http_targets() {
  return {{"http-request", run_request, request_seeds, 4096, 800},
          {"http-body", run_body, body_seeds, 4096, 600},
          {"predict", run_predict, predict_seeds, 4096, 800}};
}

}  // namespace starling::fuzz
