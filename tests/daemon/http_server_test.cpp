#include "daemon/rest/http_server.h"

#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "daemon/rest/api.h"
#include "daemon/rest/http_client.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const Endpoint kAnyPort = {.host = "127.0.0.1", .port = 0};
constexpr std::string_view kWhole = "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kHalf = "GET /v1/status HTTP/1.1\r\nHost: loc";

// A node without a node: the server and the interface over a board.
struct Fixture {
  explicit Fixture(HttpOptions options = {}) {
    board.publish(std::make_shared<const Snapshot>(example_snapshot()));
    auto started = HttpServer::start(kAnyPort, make_api(board, default_settings()), options);
    REQUIRE(started.has_value());
    server = *std::move(started);
  }

  HttpReply ask(std::string_view method, std::string_view target, std::string_view body = "") {
    const auto reply = http_request(server->endpoint(), method, target, body, 20s);
    REQUIRE_MESSAGE(reply.has_value(), reply.error().text);
    return *reply;
  }
  // The whole answer to bytes after which nothing follows.
  std::string answer(std::string_view bytes) {
    RawClient client(server->endpoint());
    client.send(bytes);
    client.finish();
    return client.read_all();
  }
  // The library closes the connection before it tells the server, so the count may come later.
  bool counts_one_time_out() const {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (server->counters().timed_out == 0 && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
    return server->counters().timed_out == 1;
  }
  bool is_well() { return ask("GET", "/v1/status").status == 200; }

  Board board;
  std::unique_ptr<HttpServer> server;
};

}  // namespace

TEST_CASE("A server answers questions and takes commands") {
  Fixture f;
  const HttpReply status = f.ask("GET", "/v1/status");
  CHECK(status.status == 200);
  CHECK(status.content_type == "application/json");
  CHECK(json::parse(status.body)["node"]["name"] == "node-0");
  CHECK(f.ask("GET", "/v1/topology?format=dot").body.starts_with("graph"));
  CHECK(f.ask("POST", "/v1/join", R"({"address":"10.0.0.7:7600"})").status == 202);
  CHECK(f.ask("POST", "/v1/leave").status == 202);
  CHECK(f.board.take_commands().size() == 2);
}

TEST_CASE("A server says what is wrong with a request") {
  Fixture f;
  CHECK(f.ask("GET", "/nowhere").status == 404);
  CHECK(f.ask("DELETE", "/v1/status").status == 405);
  CHECK(f.ask("BREW", "/v1/status").status == 405);
  CHECK(f.ask("POST", "/v1/join", "{").status == 400);
  CHECK(json::parse(f.ask("GET", "/nowhere").body)["error"]["code"] == "not_found");
  CHECK(f.server->counters().malformed == 0);
}

TEST_CASE("A head that is too large is refused and the reason arrives") {
  Fixture f;
  RawClient client(f.server->endpoint());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n");
  CHECK(client.read_all().starts_with("HTTP/1.1 431 "));
  CHECK(f.server->counters().malformed == 1);
  CHECK(f.is_well());
}

TEST_CASE("A body that is too large is refused and the reason arrives") {
  Fixture f;
  const std::string head = "POST /v1/leave HTTP/1.1\r\nHost: localhost\r\n";
  RawClient announced(f.server->endpoint());
  announced.send(head + "Content-Length: 70000\r\n\r\n" + std::string(70'000, 'x'));
  CHECK(announced.read_all().starts_with("HTTP/1.1 413 "));
  RawClient chunked(f.server->endpoint());
  chunked.send(head + "Transfer-Encoding: chunked\r\n\r\n11000\r\n" + std::string(0x11000, 'x'));
  CHECK(chunked.read_all().starts_with("HTTP/1.1 413 "));
  RawClient endless(f.server->endpoint());
  endless.send(head + "Content-Length: 18446744073709551615\r\n\r\n");
  CHECK(endless.read_all().starts_with("HTTP/1.1 4"));
  CHECK(f.board.take_commands().empty());
}

TEST_CASE("Bytes that are not HTTP are counted and refused") {
  Fixture f;
  CHECK(f.answer("\x16\x03\x01 hello, is this TLS?\r\n\r\n").starts_with("HTTP/1.1 400 "));
  CHECK(f.answer(std::string(20'000, '\0')).starts_with("HTTP/1.1 4"));
  CHECK(f.answer("GET /v1/status HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
  CHECK(f.answer("").empty());
  CHECK(f.server->counters().malformed == 3);
  CHECK(f.is_well());
}

TEST_CASE("A Host that is no name of the node is refused") {
  Fixture f({.hosts = {"node-0.lab"}});
  CHECK(f.answer("GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            .starts_with("HTTP/1.1 403 "));
  CHECK(f.answer("GET /v1/status HTTP/1.1\r\nHost: node-0.lab:80\r\n\r\n")
            .starts_with("HTTP/1.1 200 "));
  CHECK(f.answer("GET /v1/status HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
  for (const char* version : {"1.0", "1.1"})
    CHECK(f.answer(fmt::format("GET /v1/status HTTP/{}\r\nHost: \r\n\r\n", version))
              .starts_with("HTTP/1.1 400 "));
  CHECK(f.server->counters().refused_hosts == 1);
}

TEST_CASE("A connection is kept for further requests") {
  Fixture f;
  RawClient client(f.server->endpoint());
  for (int k = 0; k < 3; ++k) {
    client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(client.read_until("[]}").starts_with("HTTP/1.1 200 "));
  }
  client.send(std::string(kWhole) + std::string(kWhole));
  client.finish();
  const std::string pipelined = client.read_all();
  CHECK(pipelined.rfind("HTTP/1.1 200 ") > pipelined.find("HTTP/1.1 200 "));
  CHECK(f.server->counters().requests == 5);
}

TEST_CASE("HEAD gives the head of what GET gives") {
  Fixture f;
  const std::string whole = f.answer("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string head = f.answer("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(whole == head + "{\"reasons\":[]}");
}

TEST_CASE("A client that sends a byte now and then is closed at its deadline") {
  Fixture f({.read_deadline = 50ms});
  RawClient client(f.server->endpoint());
  client.send("GET /");
  int bytes = 0;
  while (!client.has_news(1) && client.send("x")) REQUIRE(++bytes < 8'000);
  CHECK(client.read_all().empty());
  CHECK(f.counts_one_time_out());
  CHECK(f.server->counters().requests == 0);
}

TEST_CASE("An idle client is closed at its deadline") {
  Fixture f({.read_deadline = 50ms});
  CHECK(RawClient(f.server->endpoint()).read_all().empty());
  CHECK(f.counts_one_time_out());
}

TEST_CASE("One connection too many takes the place of the oldest incomplete one") {
  Fixture f({.connections_limit = 2});
  RawClient oldest(f.server->endpoint());
  oldest.send(kHalf);
  RawClient older(f.server->endpoint());
  older.send(kHalf);
  RawClient newest(f.server->endpoint());
  newest.send(kWhole);
  CHECK(newest.read_until("\r\n").starts_with("HTTP/1.1 200 "));
  CHECK(oldest.read_all().empty());
  older.send("alhost\r\n\r\n");
  CHECK(older.read_until("\r\n").starts_with("HTTP/1.1 200 "));
  CHECK(f.server->counters().evicted == 1);
}

TEST_CASE("More slow clients than there are places do not lock others out") {
  Fixture f;
  std::vector<RawClient> slow;
  for (int k = 0; k < 300; ++k) {
    slow.emplace_back(f.server->endpoint());
    slow.back().send(kHalf);
  }
  CHECK(f.is_well());
  CHECK(f.server->counters().evicted >= 300 - 256);
}

TEST_CASE("A handler that throws costs one answer") {
  const auto server = HttpServer::start(
      kAnyPort, [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no luck"); });
  REQUIRE(server.has_value());
  const auto reply = http_request((*server)->endpoint(), "GET", "/", "", 20s);
  REQUIRE(reply.has_value());
  CHECK(reply->status == 500);
}

TEST_CASE("A response that comes later holds no other request up") {
  std::atomic<bool> is_there = false;
  const auto server = HttpServer::start(kAnyPort, [&](const HttpRequest& request) -> HttpResponse {
    if (request.target == "/now") return {.body = "now"};
    if (request.target == "/never") return {.later = [] { return std::nullopt; }};
    return {.later = [&]() -> std::optional<HttpResponse> {
      if (!is_there) return std::nullopt;
      return HttpResponse{.body = "later"};
    }};
  });
  REQUIRE(server.has_value());
  RawClient never((*server)->endpoint()), waiting((*server)->endpoint());
  never.send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n");
  waiting.send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (int k = 0; k < 3; ++k)
    CHECK(http_request((*server)->endpoint(), "GET", "/now", "", 20s)->body == "now");
  CHECK_FALSE(waiting.has_news(0));
  is_there = true;
  CHECK(waiting.read_until("later").starts_with("HTTP/1.1 200 "));
  // The connection goes on. The server ends while the first client still waits.
  waiting.send("GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(waiting.read_until("now").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("A response that comes later may fail") {
  const auto server = HttpServer::start(kAnyPort, [](const HttpRequest&) -> HttpResponse {
    return {.later = []() -> std::optional<HttpResponse> { throw std::runtime_error("no luck"); }};
  });
  REQUIRE(server.has_value());
  CHECK(http_request((*server)->endpoint(), "GET", "/", "", 20s)->status == 500);
}

TEST_CASE("A response larger than all that may be under way goes out alone") {
  const auto server =
      HttpServer::start(kAnyPort,
                        [](const HttpRequest&) {
                          return HttpResponse{.body = std::string(kHttpUnsentBytesLimit + 1, 'x')};
                        },
                        {.patience = 1h});
  REQUIRE(server.has_value());
  RawClient reader((*server)->endpoint());
  reader.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  REQUIRE(reader.has_news(20'000));
  CHECK(http_request((*server)->endpoint(), "GET", "/", "", 20s)->status == 503);
  CHECK(reader.read_until("xxx").starts_with("HTTP/1.1 200 "));
}

namespace {

// Answers to /large that are together all that may be under way, and that four readers asked for.
struct Unread {
  explicit Unread(std::chrono::milliseconds patience) {
    auto started = HttpServer::start(
        kAnyPort,
        [](const HttpRequest& request) {
          const bool is_large = request.target == "/large";  // more than sockets buffer
          return HttpResponse{.body = std::string(is_large ? kHttpUnsentBytesLimit / 4 : 1, 'x')};
        },
        {.patience = patience});
    REQUIRE(started.has_value());
    server = *std::move(started);
    for (int k = 0; k < 4; ++k) {
      readers.emplace_back(server->endpoint());
      readers.back().send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
      REQUIRE(readers.back().has_news(20'000));
    }
  }
  int status(std::string_view target) const {
    const auto reply = http_request(server->endpoint(), "GET", target, "", 20s);
    REQUIRE(reply.has_value());
    return reply->status;
  }

  std::unique_ptr<HttpServer> server;
  std::vector<RawClient> readers;
};

}  // namespace

TEST_CASE("Clients that do not read their answers cost bounded memory") {
  Unread f(1h);
  CHECK(f.status("/large") == 503);
  CHECK(f.status("/small") == 200);
  CHECK(f.readers.front().read_until("xxx").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("Clients that do not read their answers make room for one that does") {
  const Unread f(1ms);
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (f.status("/large") == 503 && std::chrono::steady_clock::now() < limit) {
  }
  CHECK(f.status("/large") == 200);
  CHECK(f.server->counters().evicted > 0);
}

TEST_CASE("An address in use is an error that names it") {
  Fixture f;
  const Endpoint taken = f.server->endpoint();
  const auto second = HttpServer::start(taken, [](const HttpRequest&) { return HttpResponse(); });
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().text.find("listen.http = \"" + to_string(taken)) == 0);
  CHECK(second.error().text.find("in use") != std::string::npos);
  CHECK(second.error().code == kExitFailed);
  const auto foreign = HttpServer::start({.host = "192.0.2.1", .port = 0}, nullptr);
  REQUIRE_FALSE(foreign.has_value());
  CHECK(foreign.error().code == kExitWrongUsage);
}

TEST_CASE("A server stops while clients are connected") {
  Fixture f;
  RawClient half(f.server->endpoint());
  half.send(kHalf);
  RawClient idle(f.server->endpoint());
  CHECK(f.is_well());
  f.server.reset();
  CHECK(half.read_all().empty());
}

TEST_CASE("A client says why it has no answer") {
  Fixture f;
  const Endpoint gone = f.server->endpoint();
  f.server.reset();
  const auto refused = http_request(gone, "GET", "/", "", 20s);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().text.find(to_string(gone)) != std::string::npos);
}

TEST_CASE("A client does not wait longer than it was told") {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const Endpoint silent = {.host = "127.0.0.1", .port = ntohs(address.sin_port)};
  const auto reply = http_request(silent, "GET", "/", "", 50ms);
  ::close(listener);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().text.find("50 ms") != std::string::npos);
}

TEST_CASE("An URL names a host and a port") {
  CHECK(parse_url("http://127.0.0.1:7680") == Endpoint{"127.0.0.1", 7680});
  CHECK(parse_url("http://[::1]:7680/") == Endpoint{"::1", 7680});
  CHECK(parse_url("node-3:7680") == Endpoint{"node-3", 7680});
  for (const char* url : {"", "http://", "https://a:1", "http://a", "http://a:0", "http://a:1/b",
                          "ftp://a:1", "http://a b:1"})
    CHECK_FALSE(parse_url(url).has_value());
}

namespace {

// A request with some bytes changed, dropped, repeated or inserted.
std::string mutated(Prng& prng) {
  static const std::vector<std::string> kSeeds = {
      std::string(kWhole),
      "POST /v1/join HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 28\r\n\r\n{\"address\":\"127.0.0.1:7600\"}",
      "POST /v1/leave HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
      "0\r\n\r\n",
      "GET /v1/convergence?since=3 HTTP/1.1\r\nHost: [::1]:1\r\nConnection: keep-alive\r\n\r\n",
      "HEAD /v1/topology?format=dot HTTP/1.0\r\n\r\n"};
  std::string text = kSeeds[prng.below(kSeeds.size())];
  for (std::uint64_t changes = prng.below(8); changes > 0 && !text.empty(); --changes) {
    const std::size_t place = prng.below(text.size());
    const auto byte = static_cast<char>(prng.next());
    switch (prng.below(5)) {
      case 0:
        text[place] = byte;
        break;
      case 1:
        text.erase(place, 1 + prng.below(4));
        break;
      case 2:
        text.insert(place, 1 + prng.below(4), byte);
        break;
      case 3:
        text += text.substr(place);
        break;
      case 4:
        text.resize(place);
        break;
    }
  }
  return text;
}

std::string noise(Prng& prng) {
  std::string text(prng.below(200), '\0');
  for (char& c : text) c = static_cast<char>(prng.next());
  return text;
}

}  // namespace

TEST_CASE("Ten thousand strange requests leave the server well") {
  Fixture f;
  Prng prng(7);
  for (int k = 0; k < 10'000; ++k) {
    const std::string answer = f.answer(k % 4 == 0 ? noise(prng) : mutated(prng));
    REQUIRE((answer.empty() || answer.starts_with("HTTP/1.1 ")));
    f.board.take_commands();
  }
  CHECK(f.server->counters().malformed > 1'000);
  CHECK(f.server->counters().requests > 1'000);
  CHECK(f.is_well());
}
