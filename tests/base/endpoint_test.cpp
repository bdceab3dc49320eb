#include "base/endpoint.h"

#include <doctest/doctest.h>

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
  CHECK_FALSE(loopback("0.0.0.0:1"));
  CHECK_FALSE(loopback("127.example.org:1"));
  CHECK_FALSE(loopback("127.0.0.1.example.org:1"));
}
