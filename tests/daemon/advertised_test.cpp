#include "daemon/setup/advertised.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace starling;
using namespace starling::daemon;

namespace {

const std::vector<OwnAddress> kLaptop = {
    {"lo", "127.0.0.1"}, {"eth0", "10.0.0.5"}, {"lo", "::1"}, {"eth0", "2001:db8::5"}};
const std::vector<OwnAddress> kRouter = {
    {"lo", "127.0.0.1"}, {"eth0", "10.0.0.5"}, {"docker0", "172.17.0.1"}, {"eth0", "2001:db8::5"}};
const Endpoint kV4{"0.0.0.0", 7600}, kBoth{"::", 7600};

std::optional<std::string> no_way(const SeedName&) {
  return std::nullopt;
}

std::string reached(const Endpoint& listen, const std::vector<OwnAddress>& own,
                    const std::vector<SeedName>& seeds = {}, const SourceOf& source = no_way) {
  const auto found = reachable_host(listen, own, seeds, source);
  return found ? found->host : found.error().text;
}

}  // namespace

TEST_CASE("A machine of one interface is reached at its address") {
  CHECK(reached(kV4, kLaptop) == "10.0.0.5");
  CHECK(reached(kBoth, kLaptop) == "10.0.0.5");
  CHECK(reached(kBoth, {{"lo", "::1"}, {"eth0", "2001:db8::5"}}) == "2001:db8::5");
}

TEST_CASE("A machine of several interfaces is reached where the seed is reached from") {
  const SourceOf source = [](const SeedName& seed) -> std::optional<std::string> {
    if (seed.at.host == "172.17.0.9") return "172.17.0.1";
    if (seed.at.host == "2001:db8::9") return "2001:db8::5";
    if (seed.at.host == "127.0.0.1") return "127.0.0.1";
    return std::nullopt;
  };
  const SeedName docker("172.17.0.9", 7600), v6("2001:db8::9", 7600), own("127.0.0.1", 7600);
  CHECK(reached(kV4, kRouter, {docker}, source) == "172.17.0.1");
  CHECK(reached(kBoth, kRouter, {v6, docker}, source) == "2001:db8::5");
  // A socket on 0.0.0.0 takes no connection of IPv6, and loopback leads nowhere.
  CHECK(reached(kV4, kRouter, {v6, own, docker}, source) == "172.17.0.1");
}

TEST_CASE("Where the address cannot be told the text lists those there are") {
  CHECK(reached(kV4, kRouter) ==
        "listen.control = \"0.0.0.0:7600\": listens everywhere, and this machine has several "
        "addresses; expected one of them in listen.advertise, or another host by which others "
        "reach it: 10.0.0.5 (eth0), 172.17.0.1 (docker0)");
  CHECK(reached(kV4, {{"eth0", "10.0.0.5"}, {"eth0", "10.0.0.6"}}).find("several") !=
        std::string::npos);
  CHECK(reached(kV4, {{"lo", "127.0.0.1"}, {"eth0", "2001:db8::5"}}) ==
        "listen.control = \"0.0.0.0:7600\": listens everywhere, and this machine has no address "
        "for it beyond loopback; expected the host by which others reach it in listen.advertise");
}

TEST_CASE("An advertised name that stands for loopback is doubted") {
  const auto doubt = [](const Endpoint& advertised, const Endpoint& found) {
    return loopback_doubt(advertised, [&](const Endpoint&) { return std::vector{found}; });
  };
  CHECK(doubt({"machine-1", 0}, {"127.0.1.1", 0})
            .starts_with("listen.advertise = \"machine-1\": on this machine the name stands for "
                         "127.0.1.1"));
  CHECK(doubt({"machine-1", 0}, {"10.0.0.1", 0}).empty());
  CHECK(doubt({"127.0.0.1", 0}, {"127.0.0.1", 0}).empty());
  CHECK(doubt({"", 0}, {"127.0.0.1", 0}).empty());
  const auto unknown = [](const Endpoint&) -> Result<std::vector<Endpoint>> {
    return fail("not known");
  };
  CHECK(loopback_doubt({"machine-1", 0}, unknown).empty());
}

TEST_CASE("The system tells from which of its addresses it would send") {
  CHECK(source_address({"127.0.0.1", 7600}) == "127.0.0.1");
  CHECK(source_address({"no-address.example", 7600}) == std::nullopt);
  CHECK(source_towards({"127.0.0.1", 7600}, {}) == std::nullopt);  // loopback leads nowhere
  bool has_loopback = false;
  for (const OwnAddress& own : own_addresses()) has_loopback |= own.address == "127.0.0.1";
  CHECK(has_loopback);
}
