#include "daemon/rest/document_cache.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "daemon/rest/api.h"
#include "daemon/rest/http_client.h"
#include "daemon/rest/http_server.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const Snapshot> snapshot_of_round(std::uint64_t round) {
  Snapshot snapshot = example_snapshot();
  snapshot.status.run.round = round;
  return std::make_shared<const Snapshot>(std::move(snapshot));
}

HttpResponse ask_of(const Handler& api, const std::string& target) {
  return api({.method = "GET", .target = target, .host = "127.0.0.1:7680"});
}

constexpr const char* kDocuments[] = {"/v1/status", "/v1/fleet", "/v1/members", "/v1/neighbors",
                                      "/v1/topology"};

}  // namespace

TEST_CASE("A text is made once a snapshot and name") {
  DocumentCache cache;
  int made = 0;
  const auto make = [&] { return std::to_string(++made); };
  const auto first = snapshot_of_round(1), second = snapshot_of_round(1);
  const auto text = cache.text(first, "status", make);
  CHECK(*text == "1");
  CHECK(cache.text(first, "status", make) == text);
  CHECK(*cache.text(first, "members", make) == "2");
  CHECK(*cache.text(second, "status", make) == "3");
  CHECK(*cache.text(second, "members", make) == "4");
  CHECK(*text == "1");
}

TEST_CASE("Two requests of one snapshot share their bytes and a new snapshot has new ones") {
  Board board;
  const Handler api = make_api(board, default_settings());
  board.publish(snapshot_of_round(41));
  std::vector<HttpResponse> before;
  for (const char* target : kDocuments) {
    CAPTURE(target);
    before.push_back(ask_of(api, target));
    REQUIRE(before.back().status == 200);
    const HttpResponse again = ask_of(api, target);
    REQUIRE(again.shared_body);
    CHECK(again.shared_body == before.back().shared_body);
  }
  board.publish(snapshot_of_round(42));
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(ask_of(api, kDocuments[i]).shared_body != before[i].shared_body);
  const auto round_of = [](const HttpResponse& response) {
    return nlohmann::json::parse(response.content())["run"]["round"];
  };
  CHECK(round_of(before[0]) == 41);
  CHECK(round_of(ask_of(api, "/v1/status")) == 42);
}

TEST_CASE("A format of the topology is not answered with the text of another") {
  Board board;
  const Handler api = make_api(board, default_settings());
  board.publish(snapshot_of_round(1));
  CHECK(ask_of(api, "/v1/topology").content().starts_with("{"));
  const HttpRequest dot = {.method = "GET", .target = "/v1/topology", .query = "format=dot"};
  CHECK(api(dot).content().starts_with("graph"));
}

TEST_CASE("A body that is shared arrives whole") {
  const auto shared = std::make_shared<const std::string>(200'000, 'x');
  const auto server = HttpServer::start({.host = "127.0.0.1", .port = 0}, [&](const HttpRequest&) {
    return HttpResponse{.shared_body = shared};
  });
  REQUIRE(server.has_value());
  for (int k = 0; k < 3; ++k) {
    const auto reply = http_request((*server)->endpoint(), "GET", "/", "", 20s);
    REQUIRE(reply.has_value());
    const bool is_same = reply->body == *shared;
    CHECK(is_same);
  }
  RawClient client((*server)->endpoint());
  client.send("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string head = client.read_all();
  CHECK(head.find("Content-Length: 200000\r\n") != std::string::npos);
  CHECK(head.ends_with("\r\n\r\n"));
}
