#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "daemon/cli/ask/present.h"
#include "daemon/cli/commands.h"
#include "daemon/rest/api.h"
#include "daemon/rest/http_client.h"
#include "daemon/rest/http_server.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;
using gossip::Event;
using nlohmann::json;

namespace {

// A server over a board on which events are pinned.
struct Fixture {
  Fixture() {
    auto started = HttpServer::start({"127.0.0.1", 0}, make_api(board, default_settings()));
    REQUIRE(started.has_value());
    server = *std::move(started);
  }
  void happens(const std::string& text) {
    board.add(Time(12400ms), Event{Event::Kind::died, text});
  }
  RawClient follow(const std::string& query = "", const std::string& fields = "") {
    RawClient client(server->endpoint());
    client.send("GET /v1/events" + query + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
    return client;
  }
  json list(const std::string& query) {
    const auto reply = http_request(server->endpoint(), "GET", "/v1/events" + query, "", 20s);
    REQUIRE(reply.has_value());
    CHECK(reply->status == 200);
    return json::parse(reply->body).at("events");
  }
  int status(const std::string& query) {
    return http_request(server->endpoint(), "GET", "/v1/events" + query, "", 20s)->status;
  }

  Board board;
  std::unique_ptr<HttpServer> server;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "A stream replays what happened and goes on with what happens") {
  happens("node-1 died");
  RawClient client = follow();
  const std::string begin = client.read_until("node-1 died\",\"time_s\":12.4}\n\n");
  CHECK(begin.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(begin.find("Content-Type: text/event-stream\r\n") != std::string::npos);
  CHECK(begin.find("Content-Length") == std::string::npos);
  CHECK(begin.find("\r\n\r\nid: 1\nevent: died\ndata: {") != std::string::npos);
  happens("node-2 died");
  const std::string rest = client.read_until("node-2 died\",\"time_s\":12.4}\n\n");
  CHECK(rest.starts_with("id: 2\nevent: died\n"));
  CHECK(rest.find("node-2 died") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "A client that comes back hears the rest") {
  for (const char* text : {"one", "two", "three"}) happens(text);
  CHECK(follow("", "Last-Event-ID: 2\r\n").read_until("\n\n").find("two") == std::string::npos);
  CHECK(follow("?since=2").read_until("\"three\"").find("id: 3\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "A list of events ends and is asked for by query or by type") {
  for (const char* text : {"one", "two", "three"}) happens(text);
  json events = list("?follow=0&since=1");
  REQUIRE(events.size() == 2);
  events[0].erase("at");
  CHECK(events[0] == json{{"sequence", 2}, {"time_s", 12.4}, {"kind", "died"}, {"text", "two"}});
  const std::string answer =
      follow("", "Accept: application/json\r\nConnection: close\r\n").read_all();
  CHECK(answer.find("Content-Type: application/json") != std::string::npos);
  CHECK(status("?since=-1") == 400);
  CHECK(status("?since=x") == 400);
  CHECK(status("?follow=2") == 400);
}

TEST_CASE_FIXTURE(Fixture, "Streams are limited and a place is free when its client is gone") {
  happens("one");
  std::vector<RawClient> clients;
  for (std::size_t k = 0; k < kHttpStreamsLimit; ++k) {
    clients.push_back(follow());
    CHECK(clients.back().read_until("\"one\"").find("200 OK") != std::string::npos);
  }
  CHECK(status("") == 503);
  CHECK(list("?follow=0").size() == 1);
  clients.clear();
  // A client that is gone is noticed by what is sent to it.
  const auto limit = std::chrono::steady_clock::now() + 20s;
  bool free = false;
  while (!free && std::chrono::steady_clock::now() < limit) {
    happens("more");
    free = follow().read_until("\r\n").find("200 OK") != std::string::npos;
    std::this_thread::yield();
  }
  CHECK(free);
}

TEST_CASE_FIXTURE(Fixture, "A client that reads nothing costs no memory and stops nobody") {
  RawClient deaf = follow();
  for (int k = 0; k < 20'000; ++k) happens(std::string(200, 'x'));
  RawClient client = follow("?since=19999");
  CHECK(client.read_until("xxx\"").find("id: 20000\n") != std::string::npos);
  CHECK(list("?follow=0").size() == EventLog::kEventsLimit);
}

TEST_CASE_FIXTURE(Fixture, "Events for people are lines in order") {
  happens("node-3 died: not heard of for 6.0 s");
  happens("node-4 died");
  json events = list("?follow=0");
  for (json& event : events) {
    CHECK(event.at("at").get<std::string>().size() == 24);
    event["at"] = "2026-07-01T12:00:00+0200";
  }
  CHECK(*present("events", {{"events", events}}) ==
        "12:00:00  node-3 died: not heard of for 6.0 s\n12:00:00  node-4 died\n");
  const std::vector<std::string> arguments = {
      "--api", "http://127.0.0.1:" + std::to_string(server->endpoint().port)};
  CHECK(carry_out(*find_command("events"), arguments) == 0);
}
