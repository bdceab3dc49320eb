#include "daemon/rest/host_list.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::daemon;

TEST_CASE("A loopback server answers to loopback names only") {
  const HostList hosts({.host = "127.0.0.1", .port = 7680}, {});
  for (const char* field :
       {"localhost", "LocalHost:7680", "127.0.0.1:1", "127.0.0.2", "[::1]:7680"})
    CHECK(hosts.allows(field));
  for (const char* field :
       {"evil.example", "127.evil.example", "localhost.evil.example:7680", "10.0.0.1", "[fe80::1]",
        "[", "[]", "", ":", "127.0.0.1.evil", "127.0.0.1:80@evil.example", "me@127.0.0.1",
        "localhost:80:80", "[::1]evil.example", "[::1]:x", ":7680"})
    CHECK_FALSE(hosts.allows(field));
}

TEST_CASE("A server on a network answers to addresses and its own names") {
  const HostList hosts({.host = "0.0.0.0", .port = 7680}, {"Node-3.lab"});
  for (const char* field : {"10.0.0.1:7680", "[2001:db8::1]", "node-3.lab:80", "localhost"})
    CHECK(hosts.allows(field));
  CHECK_FALSE(hosts.allows("evil.example"));
  CHECK_FALSE(hosts.allows("10.0.0.1.evil.example"));
}
