// Addresses of real nodes: IPv6, names in the DNS, all addresses of a machine.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/daemon/dns_server.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::Daemon;
using testing::eventually;

namespace {

using Arguments = std::vector<std::string>;

Arguments tiny(const Arguments& more) {
  Arguments all{"--data.source=reference", "--stop.rounds=1000000", "--topology.kind=complete"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Arguments on(const std::string& host, const Arguments& more = {}) {
  Arguments all = tiny({"--listen.control=" + host + ":0", "--listen.http=" + host + ":0"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool has_v6() {
  const int descriptor = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const auto* raw = reinterpret_cast<const sockaddr*>(&address);
  const bool has = descriptor >= 0 && ::bind(descriptor, raw, sizeof(address)) == 0;
  if (descriptor >= 0) ::close(descriptor);
  return has;
}

bool gives_reason(const Daemon& node, const std::string& text) {
  return eventually([&] {
    const json status = node.get("/v1/status");
    return status.is_object() && status["node"]["reasons"].dump().find(text) != std::string::npos;
  });
}

bool meet(const Daemon& a, const Daemon& b) {
  return eventually([&] { return a.members("alive") == 2 && b.members("alive") == 2; });
}

bool train(const Daemon& node) {
  const std::uint64_t round = node.round();
  return eventually([&] { return node.round() > round + 2; });
}

}  // namespace

TEST_CASE("Nodes on the loopback of IPv6 train together and answer over REST") {
  if (!has_v6()) return;
  Daemon first("first", on("[::1]"));
  CHECK(first.control().host == "::1");
  Daemon second("second", on("[::1]", {"--join=" + to_string(first.control())}));
  CHECK(meet(first, second));
  CHECK(train(second));
  CHECK(first.get("/v1/members")["members"][0]["http"].get<std::string>().starts_with("[::1]:"));
  const std::string url = "http://" + to_string(second.http());
  CHECK(testing::run("status --api " + url).exit_code == 0);
  CHECK(testing::run("doctor " + to_string(first.control())).exit_code == 0);
  CHECK(testing::run("join [0:0::1]:" + std::to_string(first.control().port) + " --api " + url)
            .exit_code == 0);
}

TEST_CASE("A node on all addresses of both kinds is reached by either") {
  if (!has_v6()) return;
  Daemon first("first", tiny({"--listen.control=[::]:0", "--listen.advertise=[0::1]",
                              "--security.insecure=true"}));
  CHECK(first.control().host == "::1");
  const std::string port = std::to_string(first.control().port);
  Daemon by_v4("by-v4", on("127.0.0.1", {"--join=127.0.0.1:" + port}));
  CHECK(meet(first, by_v4));
  Daemon by_v6("by-v6", on("[::1]", {"--join=[::1]:" + port}));
  CHECK(eventually([&] { return by_v6.members("alive") == 3; }));
}

TEST_CASE("Nodes of the loopback of IPv6 are started by up") {
  if (!has_v6()) return;
  const testing::Outcome up = testing::run(
      "up -n 3 --listen.control=[::1]:0 --listen.http=[::1]:0 --stop.rounds=3 "
      "--data.source=reference --json");
  CAPTURE(up.err);
  CHECK(up.exit_code == 0);
  CHECK(json::parse(up.out, nullptr, false)["nodes"].size() == 3);
}

TEST_CASE("A name that appears late brings nodes together that wait for it") {
  daemon::DnsServer names;
  const Arguments seeds = {"--join=dns:_control._tcp.nodes.test",
                           "--cluster.name-server=" + to_string(names.at())};
  Daemon first("first", on("127.0.0.1", seeds));
  Daemon second("second", on("127.0.0.1", seeds));
  CHECK(gives_reason(first, "the name servers do not know"));
  for (const Daemon* node : {&first, &second})
    names.add_service("_control._tcp.nodes.test", 1,
                      {node->name() + ".test", node->control().port});
  names.add_address("first.test", "127.0.0.1");
  names.add_address("second.test", "127.0.0.1");
  CHECK(meet(first, second));
  CHECK(train(first));
}

TEST_CASE("A node that is told a name over REST asks all its addresses") {
  daemon::DnsServer names;
  Daemon first("first", on("127.0.0.1"));
  Daemon second("second", on("127.0.0.1", {"--cluster.name-server=" + to_string(names.at())}));
  names.add_address("nodes.test", "127.0.0.9");  // nobody listens there
  names.add_address("nodes.test", "127.0.0.1");
  const std::string name = "dns:nodes.test:" + std::to_string(first.control().port);
  CHECK(second.post("/v1/join", json{{"address", name}}.dump()) == 202);
  CHECK(meet(first, second));
  CHECK(second.post("/v1/join", json{{"address", "dns:nodes.test"}}.dump()) == 400);
}

namespace {

// A command in a network of its own; root needs no namespace of users for that.
std::string apart(const std::string& command) {
  return (::geteuid() == 0 ? "unshare --net " : "unshare --map-root-user --net ") + command;
}

// With what the lines of `setup` put into its network.
testing::Outcome run_apart(const std::string& setup, const std::string& arguments) {
  const std::string path = testing::temporary_file(
      "apart.sh", "set -e\nip link set lo up\n" + setup + "\nexec '" + testing::program() +
                      "' run --data.source=reference --stop.rounds=1 --topology.kind=complete "
                      "--listen.http=127.0.0.1:0 " +
                      arguments + "\n");
  const std::string out = testing::temporary_file("apart.out", "");
  const int status = std::system((apart("sh ") + path + " >" + out + " 2>&1").c_str());
  std::ifstream stream(out);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128,
          {std::istreambuf_iterator<char>(stream), {}},
          ""};
}

bool can_be_apart() {
  return std::system((apart("ip link add test0 type veth") + " >/dev/null 2>&1").c_str()) == 0;
}

constexpr const char* kOne =
    "ip link add test0 type veth peer name other0\nip addr add 10.9.0.5/24 dev test0\n"
    "ip link set test0 up\nip link set other0 up\n";
constexpr const char* kTwo =
    "ip link add test1 type veth peer name other1\nip addr add 10.8.0.5/24 dev test1\n"
    "ip link set test1 up\nip link set other1 up\n";

}  // namespace

TEST_CASE("A node on all addresses tells the others the one by which they reach it") {
  if (!can_be_apart()) return;
  const std::string everywhere = "--listen.control=0.0.0.0:7600 --security.insecure=true";
  const testing::Outcome one = run_apart(kOne, everywhere);
  CAPTURE(one.out);
  CHECK(one.exit_code == 0);
  CHECK(one.out.find(": 10.9.0.5:7600, http://") != std::string::npos);
  const testing::Outcome none = run_apart("", everywhere);
  CHECK(none.exit_code == 2);
  CHECK(none.out.find("no address for it beyond loopback") != std::string::npos);
  const std::string two = std::string(kOne) + kTwo;
  const testing::Outcome several = run_apart(two, everywhere);
  CHECK(several.exit_code == 2);
  CHECK(several.out.find("10.9.0.5 (test0), 10.8.0.5 (test1)") != std::string::npos);
  const testing::Outcome by_seed =
      run_apart(two, everywhere + " --join 10.8.0.9:7600 --exchange.alone=train");
  CHECK(by_seed.exit_code == 0);
  CHECK(by_seed.out.find(": 10.8.0.5:7600, http://") != std::string::npos);
}
