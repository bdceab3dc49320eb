#include "daemon/process/dns.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/daemon/dns_server.h"

using namespace starling;
using namespace starling::daemon;

namespace {

using Record = std::pair<int, std::string>;

SeedName hosts(const std::string& name, std::uint16_t port = 7600) {
  return {name, port, SeedName::Kind::hosts};
}
SeedName service(const std::string& name) {
  return {name, 0, SeedName::Kind::service};
}

std::vector<std::string> found_at(const DnsServer& server, const SeedName& name) {
  const auto found = look_up(name, {.server = server.at(), .patience = std::chrono::seconds(1)});
  if (!found) return {found.error().text};
  std::vector<std::string> texts;
  for (const Endpoint& at : *found) texts.push_back(to_string(at));
  return texts;
}

Result<DnsAnswer> read(const std::string& message) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  return read_dns_answer({bytes, message.size()});
}

std::string question(const std::string& name, int type) {
  return DnsServer::labels(name) + DnsServer::number(type) + DnsServer::number(1);
}

std::string answer_of(const std::vector<Record>& records) {
  return DnsServer::message("id", question("nodes.test", 1), records);
}

std::string service_data(int port, const std::string& host_bytes) {
  return DnsServer::number(0) + DnsServer::number(0) + DnsServer::number(port) + host_bytes;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("A name gives all its addresses of both kinds with the port of the seed") {
  DnsServer server;
  server.add_address("nodes.test", "10.0.0.2");
  server.add_address("nodes.test", "10.0.0.1");
  server.add_address("nodes.test", "2001:db8::1");
  server.add_address("nodes.test", "10.0.0.2");
  server.add_address("four.test", "10.0.0.4");
  server.add_address("six.test", "2001:db8::6");
  CHECK(found_at(server, hosts("nodes.test")) ==
        Texts{"10.0.0.1:7600", "10.0.0.2:7600", "[2001:db8::1]:7600"});
  CHECK(found_at(server, hosts("NODES.test.", 1)) ==
        Texts{"10.0.0.1:1", "10.0.0.2:1", "[2001:db8::1]:1"});
  CHECK(found_at(server, hosts("four.test")) == Texts{"10.0.0.4:7600"});
  CHECK(found_at(server, hosts("six.test")) == Texts{"[2001:db8::6]:7600"});
}

TEST_CASE("A service gives the addresses of its hosts by priority with the ports of its records") {
  DnsServer server;
  const std::string name = "_control._tcp.nodes.test";
  server.add_service(name, 2, {"b.test", 7700});
  server.add_service(name, 1, {"c.test", 7800});
  server.add_service(name, 1, {"gone.test", 7800});
  server.add_service(name, 1, {"c.test", 0});
  server.add_service(name, 1, {"", 7900});  // offered nowhere
  server.add_address("b.test", "10.0.0.2");
  server.add_address("c.test", "10.0.0.3");
  server.add_address("c.test", "2001:db8::3");
  CHECK(found_at(server, service(name)) ==
        Texts{"10.0.0.3:7800", "[2001:db8::3]:7800", "10.0.0.2:7700"});
}

TEST_CASE("A name that is not there yet is told apart from a server that is not") {
  Endpoint closed;
  {
    DnsServer server;
    closed = server.at();
    server.add_record("empty.test", 16, "\x03txt");
    server.add_service("_lost._tcp.test", 1, {"gone.test", 7600});
    CHECK(found_at(server, hosts("late.test")) ==
          Texts{"the name servers do not know \"late.test\" yet"});
    CHECK(found_at(server, hosts("empty.test")) == Texts{"\"empty.test\" has no address yet"});
    CHECK(found_at(server, service("_empty._tcp.test")) ==
          Texts{"the name servers do not know \"_empty._tcp.test\" yet"});
    CHECK(found_at(server, service("_lost._tcp.test")) ==
          Texts{"the name servers do not know \"gone.test.\" yet"});
    server.add_address("late.test", "10.0.0.9");
    CHECK(found_at(server, hosts("late.test")) == Texts{"10.0.0.9:7600"});
  }
  const auto found =
      look_up(hosts("late.test"), {.server = closed, .patience = std::chrono::seconds(1)});
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().text == "no name server answers for \"late.test\"");
}

TEST_CASE("A long answer comes by another way and is cut to the limit") {
  DnsServer server;
  for (int k = 0; k < 2000; ++k)
    server.add_address("many.test", fmt::format("10.1.{}.{}", k / 250, k % 250));
  CHECK(found_at(server, hosts("many.test")).size() == kDnsAddressesLimit);
  CHECK(server.long_questions() > 0);
  for (int k = 0; k < 40; ++k)
    server.add_service("_many._tcp.test", k, {"many.test", static_cast<std::uint16_t>(1 + k)});
  CHECK(found_at(server, service("_many._tcp.test")).size() == kDnsAddressesLimit);
}

TEST_CASE("Addresses that are nobody's are left out") {
  DnsServer server;
  for (const char* address : {"0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1", "::", "ff02::1",
                              "fe80::1", "10.0.0.1"})
    server.add_address("odd.test", address);
  CHECK(found_at(server, hosts("odd.test")) == Texts{"10.0.0.1:7600"});
}

TEST_CASE("Records of other types and sizes are left out and broken ones are refused") {
  const std::string v4("\x0a\0\0\x01", 4);
  CHECK(read(answer_of({{1, v4}, {16, "txt"}, {1, "abc"}, {28, v4}}))->addresses ==
        Texts{"10.0.0.1"});
  const auto good = read(answer_of({{33, service_data(7600, DnsServer::labels("a.test"))}}));
  REQUIRE(good.has_value());
  CHECK(good->services.size() == 1);
  CHECK(good->services.front().at == Endpoint{"a.test", 7600});
  const std::string bad[] = {"", std::string("\0\0\0\0\0\0", 6),
                             service_data(1,
                                          "\x05"
                                          "ab"),
                             service_data(1, "\xc0\xff"), service_data(1, "\xc0")};
  for (const std::string& data : bad) CHECK_FALSE(read(answer_of({{33, data}})).has_value());
  // Hosts that no endpoint may have: a blank, an address, the root.
  for (const std::string& host : {DnsServer::labels("a b"), DnsServer::labels("10.0.0.1"),
                                  std::string(1, '\0'), DnsServer::labels("a\nb.test")}) {
    const auto answer = read(answer_of({{33, service_data(7600, host)}}));
    REQUIRE(answer.has_value());
    CHECK(answer->services.empty());
  }
  CHECK_FALSE(read("").has_value());
  CHECK_FALSE(read("short").has_value());
  CHECK_FALSE(read(std::string(kDnsAnswerBytesLimit + 1, '\0')).has_value());
}

TEST_CASE("A name that points at itself ends") {
  // The host of the record begins where it stands itself: 12 bytes of header, the question, then
  // twelve bytes of the record and six of its data.
  const std::size_t place = 12 + question("nodes.test", 1).size() + 12 + 6;
  const std::string loop{'\xc0', static_cast<char>(place)};
  CHECK_FALSE(read(answer_of({{33, service_data(7600, loop)}})).has_value());
}

TEST_CASE("No answer of any bytes does harm") {
  Prng prng(11);
  std::vector<Record> records;
  for (int k = 0; k < 8; ++k) {
    records.emplace_back(1, std::string("\x0a\0\0", 3) + static_cast<char>(k));
    records.emplace_back(28, std::string(15, '\x20') + static_cast<char>(k));
    records.emplace_back(33, service_data(7600 + k, DnsServer::labels("node.test")));
  }
  const std::string whole = answer_of(records);
  std::size_t read_ones = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text =
        whole.substr(0, round % 3 == 0 ? prng.below(whole.size() + 1) : whole.size());
    for (std::size_t k = prng.below(8); k > 0 && !text.empty(); --k)
      text[prng.below(text.size())] = static_cast<char>(prng.next());
    if (round % 16 == 0)
      for (char& c : text) c = static_cast<char>(prng.next());
    const auto answer = read(text);
    if (!answer) continue;
    ++read_ones;
    CHECK(answer->addresses.size() <= kDnsAddressesLimit);
    CHECK(answer->services.size() <= kDnsServicesLimit);
    for (const DnsService& found : answer->services) CHECK(is_host(found.at.host));
    for (const std::string& address : answer->addresses) CHECK(is_host(address));
  }
  CHECK(read_ones > 1000);
}

TEST_CASE("A name server that sends nonsense gives nothing or addresses") {
  DnsServer server;
  Prng prng(12);
  server.set_mangle([&prng](std::string text) {
    for (std::size_t k = 1 + prng.below(6); k > 0 && !text.empty(); --k)
      text[prng.below(text.size())] = static_cast<char>(prng.next());
    return text.substr(0, prng.below(3) == 0 ? prng.below(text.size() + 1) : text.size());
  });
  for (int k = 0; k < 20; ++k) server.add_address("nodes.test", fmt::format("10.0.0.{}", k + 1));
  server.add_service("_x._tcp.nodes.test", 1, {"nodes.test", 7600});
  const DnsOptions options{.server = server.at(), .patience = std::chrono::seconds(1)};
  for (int round = 0; round < 300; ++round)
    for (const SeedName& name : {hosts("nodes.test"), service("_x._tcp.nodes.test")}) {
      const auto found = look_up(name, options);
      if (!found) continue;
      CHECK(found->size() <= kDnsAddressesLimit);
      for (const Endpoint& at : *found) CHECK(is_numeric(at));
    }
}
