#include "base/endpoint.h"

#include <doctest/doctest.h>

#include <utility>

using namespace starling;

namespace {

std::string problem(std::string_view text) {
  const Result<Endpoint> endpoint = parse_endpoint(text);
  return endpoint ? "" : endpoint.error().text;
}

bool loopback(std::string_view text) {
  return is_loopback(parse_endpoint(text).value());
}

}  // namespace

TEST_CASE("An endpoint survives its text form") {
  for (std::string_view text : {"127.0.0.1:7600", "node-3.example.org:65535", "[::1]:0",
                                "[fe80::1%eth0]:7600", "under_score:1"}) {
    const Result<Endpoint> endpoint = parse_endpoint(text);
    REQUIRE(endpoint.has_value());
    CHECK(to_string(*endpoint) == text);
  }
  CHECK(parse_endpoint("[::1]:7600")->host == "::1");
  CHECK(parse_endpoint("[::1]:7600")->port == 7600);
}

TEST_CASE("An address of IPv6 has one text whatever its spelling") {
  const std::pair<std::string_view, std::string_view> spellings[] = {
      {"[0:0:0:0:0:0:0:1]:7600", "[::1]:7600"},
      {"[::0001]:7600", "[::1]:7600"},
      {"[2001:DB8:0:0:1:0:0:1]:7600", "[2001:db8::1:0:0:1]:7600"},
      {"[2001:db8::]:0", "[2001:db8::]:0"},
      {"[0::0]:7600", "[::]:7600"},
      {"[::FFFF:10.0.0.1]:7600", "[::ffff:10.0.0.1]:7600"},
      {"[FE80::1%eth0]:7600", "[fe80::1%eth0]:7600"}};
  for (const auto& [typed, kept] : spellings) {
    CAPTURE(typed);
    const Result<Endpoint> endpoint = parse_endpoint(typed);
    REQUIRE(endpoint.has_value());
    CHECK(to_string(*endpoint) == kept);
    CHECK(parse_endpoint(kept) == *endpoint);
  }
}

TEST_CASE("A host that looks like an address is one") {
  for (std::string_view text :
       {"256.1.1.1:1", "1.2.3:1", "1.2.3.4.5:1", "010.0.0.1:1", "1..2.3:1", "12345:1", ".:1"}) {
    CAPTURE(text);
    CHECK(problem(text).find("is no address of IPv4") != std::string::npos);
  }
  for (std::string_view text : {"[:::]:1", "[1:2]:1", "[::1%]:1", "[name]:1", "[10.0.0.1]:1",
                                "[1:2:3:4:5:6:7:8:9]:1", "[12345::]:1", "[::1%eth0%x]:1"}) {
    CAPTURE(text);
    CHECK_FALSE(problem(text).empty());
  }
  CHECK(problem("[name]:1").find("is no address of IPv6") != std::string::npos);
}

TEST_CASE("A host has no port and may stand in brackets") {
  const std::pair<std::string_view, std::string_view> hosts[] = {
      {"10.0.0.1", "10.0.0.1"},
      {"node-1.example", "node-1.example"},
      {"::1", "::1"},
      {"[2001:DB8::1]", "2001:db8::1"},
      {"fe80::1%eth0", "fe80::1%eth0"}};
  for (const auto& [typed, kept] : hosts) CHECK(parse_host(typed).value_or("none") == kept);
  for (std::string_view text : {"", "10.0.0.1:7600", "node:7600", "[::1]:7600", "[name]", "[]",
                                "a b", "256.0.0.1", "http://node", "*"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_host(text).has_value());
    CHECK_FALSE(is_host(text));
  }
}

TEST_CASE("What is no endpoint is refused with the reason") {
  CHECK(problem("localhost") ==
        "\"localhost\" has no port; expected HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600");
  CHECK(problem(":7600").find("no usable host") != std::string::npos);
  CHECK(problem("a b:1").find("not an address") != std::string::npos);
  for (std::string_view text : {"h:", "h:x", "h:65536", "h:-1", "h:+1", "h:1 ", "h:0x1"})
    CHECK(problem(text).find("a port is a number from 0 to 65535") != std::string::npos);
  for (std::string_view text :
       {"", ":", "::1:7600", "[::1]", "[]:1", "[::1:1", "::1]:1", "tcp://h:1"})
    CHECK_FALSE(problem(text).empty());
  CHECK_FALSE(problem(std::string(kHostBytesLimit + 1, 'h') + ":1").empty());
  CHECK(problem(std::string(kHostBytesLimit, 'h') + ":1").empty());
}

TEST_CASE("Only this machine is loopback") {
  CHECK(loopback("localhost:1"));
  CHECK(loopback("127.0.0.1:1"));
  CHECK(loopback("127.8.0.1:1"));
  CHECK(loopback("[::1]:1"));
  CHECK(loopback("[0:0::1]:1"));
  CHECK_FALSE(loopback("0.0.0.0:1"));
  CHECK_FALSE(loopback("127.example.org:1"));
  CHECK_FALSE(loopback("127.0.0.1.example.org:1"));
}

TEST_CASE("All addresses of a machine are no address of it") {
  for (std::string_view text : {"0.0.0.0:1", "[::]:1", "[0:0:0:0:0:0:0:0]:1"})
    CHECK(is_wildcard(parse_endpoint(text).value()));
  for (std::string_view text : {"127.0.0.1:1", "[::1]:1", "0.0.0.1:1", "any.example:1"})
    CHECK_FALSE(is_wildcard(parse_endpoint(text).value()));
}
