#include "daemon/process/host_names.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace starling;
using namespace starling::daemon;

namespace {

// What names stand for, and the names that look it up.
struct Told {
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> addresses;
  std::atomic<int> questions = 0;

  Result<std::vector<Endpoint>> operator()(const SeedName& name) {
    ++questions;
    const std::lock_guard lock(mutex);
    std::vector<Endpoint> found;
    for (const std::string& address : addresses[name.at.host])
      found.push_back({address, name.at.port});
    if (found.empty()) return fail("the host \"{}\" is not known", name.at.host);
    return found;
  }
};

struct Names {
  std::vector<HostNames::Finding> wait() {
    pollfd item{names.descriptor(), POLLIN, 0};
    REQUIRE(::poll(&item, 1, 60'000) == 1);
    return names.take_found();
  }
  std::string find(const std::string& host, std::uint16_t port) {
    const auto at = names.find_or_look_up({host, port});
    return at ? to_string(*at) : "";
  }

  std::shared_ptr<Told> told = std::make_shared<Told>();
  HostNames::Periods periods = {};
  HostNames names{[told = told](const SeedName& name) { return (*told)(name); }, periods};
};

std::string first(const HostNames::Finding& finding) {
  return finding.addresses ? to_string(finding.addresses->front()) : finding.addresses.error().text;
}

}  // namespace

TEST_CASE("A host is looked up once for all its ports and each of them is told") {
  Names one;
  one.told->addresses["node"] = {"10.0.0.1"};
  CHECK(one.find("node", 7600).empty());
  CHECK(one.find("node", 7601).empty());
  const auto found = one.wait();
  REQUIRE(found.size() == 2);
  CHECK(found[0].at == SeedName("node", 7600));
  CHECK(first(found[0]) == "10.0.0.1:7600");
  CHECK(first(found[1]) == "10.0.0.1:7601");
  CHECK(one.find("node", 7602) == "10.0.0.1:7602");
  CHECK(one.told->questions == 1);
}

TEST_CASE("An address is not looked up") {
  Names one;
  CHECK(one.find("10.0.0.1", 7600) == "10.0.0.1:7600");
  CHECK(one.find("::1", 7600) == "[::1]:7600");
  CHECK(one.told->questions == 0);
}

TEST_CASE("Where nobody answers the next address of a host is taken and the first comes again") {
  Names one;
  one.told->addresses["node"] = {"::1", "127.0.0.1"};
  one.find("node", 7600);
  one.wait();
  CHECK(one.find("node", 7600) == "[::1]:7600");
  one.names.doubt({"node", 7600});
  const auto found = one.wait();
  REQUIRE(found.size() == 1);
  CHECK(first(found[0]) == "127.0.0.1:7600");
  CHECK(found[0].before == Endpoint{"::1", 7600});
  CHECK(one.find("node", 7600) == "127.0.0.1:7600");
  one.names.doubt({"node", 7600});
  CHECK(one.find("node", 7600) == "[::1]:7600");
  one.names.doubt({"nobody", 7600});
  one.names.doubt({"10.0.0.1", 7600});
}

TEST_CASE("A host that moves is found at its new address and the old one is told") {
  Names one{.periods = {.refresh = std::chrono::milliseconds(0)}};
  one.told->addresses["node"] = {"10.0.0.1", "10.0.0.2"};
  one.find("node", 7600);
  CHECK_FALSE(one.wait().front().before.has_value());
  {
    const std::lock_guard lock(one.told->mutex);
    one.told->addresses["node"] = {"10.0.0.9", "10.0.0.1"};
  }
  CHECK(one.find("node", 7600) == "10.0.0.1:7600");  // it looks again behind that
  const auto same = one.wait();
  CHECK(first(same.front()) == "10.0.0.1:7600");  // which the host still has
  CHECK_FALSE(same.front().before.has_value());
  {
    const std::lock_guard lock(one.told->mutex);
    one.told->addresses["node"] = {"10.0.0.9"};
  }
  one.find("node", 7600);
  const auto moved = one.wait();
  CHECK(first(moved.front()) == "10.0.0.9:7600");
  CHECK(moved.front().before == Endpoint{"10.0.0.1", 7600});
  CHECK(one.find("node", 7600) == "10.0.0.9:7600");
  one.wait();
  {
    const std::lock_guard lock(one.told->mutex);
    one.told->addresses.clear();
  }
  one.find("node", 7600);
  CHECK(first(one.wait().front()) == "the host \"node\" is not known");
  CHECK(one.find("node", 7600) == "10.0.0.9:7600");  // a name server that fails takes nothing away
}

TEST_CASE("A host that is doubted is looked up again before its time") {
  Names one{.periods = {.retry = std::chrono::milliseconds(0)}};
  one.told->addresses["node"] = {"10.0.0.1"};
  one.find("node", 7600);
  one.wait();
  one.find("node", 7600);
  CHECK(one.told->questions == 1);
  one.names.doubt({"node", 7600});
  CHECK(one.find("node", 7600) == "10.0.0.1:7600");
  one.wait();
  CHECK(one.told->questions == 2);
}

TEST_CASE("A host that is not known is told and a name in the DNS gives all it stands for") {
  Names one;
  one.find("nobody", 7600);
  const auto unknown = one.wait();
  REQUIRE(unknown.size() == 1);
  CHECK(first(unknown[0]) == "the host \"nobody\" is not known");
  CHECK(one.find("nobody", 7600).empty());
  const SeedName name("nodes", 7600, SeedName::Kind::hosts);
  one.told->addresses["nodes"] = {"10.0.0.1", "10.0.0.2"};
  one.names.look_up(name);
  const auto found = one.wait();
  REQUIRE(found.size() == 1);
  CHECK(found[0].at == name);
  CHECK(found[0].addresses->size() == 2);
}

TEST_CASE("Look-ups beyond those under way are answered with a problem") {
  const auto gate = std::make_shared<std::mutex>();
  std::unique_lock closed(*gate);
  HostNames names(
      [gate](const SeedName& name) -> Result<std::vector<Endpoint>> {
        const std::lock_guard wait(*gate);
        return std::vector<Endpoint>{name.at};
      },
      {});
  for (int k = 0; k < 20; ++k) names.look_up({fmt::format("n{}", k), 7600, SeedName::Kind::hosts});
  std::size_t refused = names.take_found().size(), answered = 0;
  CHECK(refused == 4);
  closed.unlock();
  while (answered < 16) {
    pollfd item{names.descriptor(), POLLIN, 0};
    REQUIRE(::poll(&item, 1, 60'000) == 1);
    answered += names.take_found().size();
  }
  CHECK(answered == 16);
}

TEST_CASE("The system knows this machine by name") {
  const auto found = resolve_all({"localhost", 7600});
  REQUIRE(found.has_value());
  for (const Endpoint& at : *found) CHECK(is_loopback(at));
  CHECK(resolve_all({"::1", 7600}).value() == std::vector<Endpoint>{{"::1", 7600}});
}

TEST_CASE("Hosts that nobody asks for any more make room for others") {
  Names one;
  one.told->addresses["node"] = {"10.0.0.1"};
  for (int k = 0; k < 5000; ++k) one.find("gone-" + std::to_string(k), 7600);
  for (std::string found; found.empty(); found = one.find("node", 7600)) one.wait();
  CHECK(one.find("node", 7600) == "10.0.0.1:7600");
}
