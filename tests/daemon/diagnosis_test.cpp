#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/cli/ask/diagnosis.h"
#include "daemon/process/port_probe.h"
#include "daemon/rest/http_message.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

json status_of(const std::string& state, std::uint64_t round) {
  return {{"node",
           {{"name", "node-0"},
            {"state", state},
            {"uptime_s", 60},
            {"version", "0.1.0"},
            {"reasons", json::array()},
            {"warnings", json::array()}}},
          {"run", {{"round", round}, {"steps", round}}},
          {"time", {{"compute_s", 1.0}, {"wait_s", 1.0}}},
          {"descriptors", {{"used", 37}, {"allowed", 1024}}},
          {"cores", {{"usable", 1.5}, {"throttled", 7}, {"overheated", 2}}},
          {"rejected", json::object()},
          {"rejected_messages", json::object()}};
}

Answer answer(json document, int status = 200) {
  return {.status = status, .document = std::move(document)};
}

// A node with which nothing is wrong.
SeenNode well() {
  SeenNode seen{.at = {"127.0.0.1", 7680}, .is_local = true};
  seen.health = answer({{"reasons", json::array()}});
  seen.status = answer(status_of("training", 100));
  seen.later = answer(status_of("training", 112));
  seen.members = answer({{"members", json::array({{{"name", "node-0"}, {"state", "alive"}},
                                                  {{"name", "node-1"}, {"state", "alive"}}})}});
  seen.neighbors =
      answer({{"neighbors", json::array({{{"name", "node-1"}, {"state", "active"}}})}});
  seen.ports = {{"node-1", {"127.0.0.1", 7610}, PortState::greets},
                {"node-2", {"127.0.0.1", 7611}, PortState::greets}};
  seen.clock_ahead_s = 0.5;
  seen.folder = Folder{.path = "/var/lib/starling", .space = Space{1e9, 2e9}};
  seen.memory = Space{4e9, 8e9};
  return seen;
}

// The only finding that is not ok; it has something to do, as has each such finding.
Finding trouble_of(const std::vector<Finding>& findings) {
  std::vector<Finding> odd;
  std::ranges::copy_if(findings, std::back_inserter(odd),
                       [](const Finding& finding) { return finding.severity != Severity::ok; });
  REQUIRE(odd.size() == 1);
  CHECK_FALSE(odd.front().advice.empty());
  return odd.front();
}

void finds(const std::vector<Finding>& findings, Severity severity, const std::string& check,
           const std::string& words) {
  const Finding found = trouble_of(findings);
  CAPTURE(found.seen);
  CHECK(found.severity == severity);
  CHECK(found.check == check);
  CHECK(found.seen.find(words) != std::string::npos);
}

// Listens on a free port of the loopback address, and says nothing.
class Listener {
 public:
  Listener() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(descriptor_, 8) == 0);
    REQUIRE(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    at = {"127.0.0.1", ntohs(address.sin_port)};
  }
  ~Listener() { ::close(descriptor_); }

  Endpoint at;

 private:
  int descriptor_;
};

}  // namespace

TEST_CASE("A node that is well gives no finding that asks for anything") {
  for (const Finding& finding : diagnose(well())) {
    CAPTURE(finding.seen);
    CHECK(finding.severity == Severity::ok);
    CHECK(finding.advice.empty());
  }
  CHECK(diagnose(well()).size() == 12);
}

TEST_CASE("A node that cannot be asked gives that finding and no other") {
  SeenNode seen{.at = {"127.0.0.1", 7680}, .port = PortState::refused};
  finds(diagnose(seen), Severity::fail, "api", "refuses connections");
  seen.port = PortState::unanswered;
  finds(diagnose(seen), Severity::fail, "api", "does not answer");
  seen.port = PortState::unknown_name;
  finds(diagnose(seen), Severity::fail, "api", "not known");
  seen.port = PortState::unreachable;
  finds(diagnose(seen), Severity::fail, "api", "cannot be reached");
  seen.port = PortState::slow_names;
  finds(diagnose(seen), Severity::fail, "api", "name server");
  seen.port = PortState::greets;
  finds(diagnose(seen), Severity::fail, "api", "port for other nodes");
  seen.port = PortState::silent;
  finds(diagnose(seen), Severity::fail, "api", "gives no answer");
  seen.health = answer({{"error", {{"message", "Host \"x\" is no name of this node"}}}}, 403);
  finds(diagnose(seen), Severity::fail, "api", "no name of this node");
  seen.health = answer(json::array());
  finds(diagnose(seen), Severity::fail, "api", "not the REST interface");
  CHECK(diagnose(seen).size() == 1);
}

TEST_CASE("A token that is missing is told from one that is wrong") {
  SeenNode seen = well();
  seen.status = answer({{"error", {{"message", "expected a token"}}}}, 401);
  finds(diagnose(seen), Severity::fail, "token", "wants a token");
  seen.has_token = true;
  finds(diagnose(seen), Severity::fail, "token", "not that of the node");
}

TEST_CASE("A node that starts or gives no status is said to") {
  SeenNode seen = well();
  seen.status = answer({{"error", {{"message", "the node has not started yet"}}}}, 503);
  finds(diagnose(seen), Severity::warn, "state", "not started yet");
  seen.status = {.status = 0, .problem = "does not answer within 2000 ms"};
  finds(diagnose(seen), Severity::fail, "state", "does not answer");
  seen = well();
  seen.status = answer(status_of("joining", 0));
  finds(diagnose(seen), Severity::warn, "state", "node-0 is joining");
}

TEST_CASE("What a person can mend fails and other reasons are warned of") {
  for (const auto& [reason, advice] :
       {std::pair{"10.0.0.2:7600 is of cluster \"b\"; this node of \"a\"", "cluster.id"},
        {"node-2 at 10.0.0.2:7600 speaks version 1 of the protocol; this node 4", "same version"},
        {"no edge to node-3: it has optim.algorithm=qg; this node dpsgd", "same value"},
        {"cannot train with these nodes: columns differ", "same columns"},
        {"cluster.join = \"10.0.0.2:7600\": nobody listens there", "starling doctor HOST:PORT"}}) {
    SeenNode seen = well();
    seen.status.document["node"]["reasons"] = {reason};
    seen.status.document["node"]["warnings"] = {reason};
    finds(diagnose(seen), Severity::fail, "cause", reason);
    CHECK(trouble_of(diagnose(seen)).advice.find(advice) != std::string::npos);
    seen.status.document["node"]["warnings"] = json::array();
    finds(diagnose(seen), Severity::warn, "cause", reason);
  }
  SeenNode seen = well();
  const std::string advice = "optim.algorithm = dpsgd is biased, for data differ by node";
  seen.status.document["node"]["reasons"] = {advice};
  seen.status.document["node"]["warnings"] = {advice};
  finds(diagnose(seen), Severity::warn, "cause", advice);
}

TEST_CASE("Training that is refused or ended early is found") {
  SeenNode seen = well();
  seen.status.document["run"]["problem"] = "the loss is not finite";
  seen.status.document["node"]["warnings"] = {"the loss is not finite"};
  finds(diagnose(seen), Severity::fail, "training", "not finite");
  CHECK(trouble_of(diagnose(seen)).advice.find("learning-rate") != std::string::npos);
  seen.status.document["run"]["problem"] = "no trainer is attached";
  seen.status.document["node"]["warnings"] = {"no trainer is attached"};
  CHECK(trouble_of(diagnose(seen)).advice.find("trainer.command") != std::string::npos);
  seen = well();
  seen.status.document["trainer"] = {{"state", "stalled"}, {"reason", "no step for 9 s"}};
  finds(diagnose(seen), Severity::fail, "trainer", "stalled: no step for 9 s");
  seen.status.document["trainer"]["reason"] = "no step since it got its parameters 12 s ago";
  finds(diagnose(seen), Severity::fail, "trainer", "stalled: no step since");
  SeenNode warned = seen;
  warned.status.document["node"]["warnings"] = {
      "the trainer stands still: no step since it got "
      "its parameters 12 s ago"};
  finds(diagnose(warned), Severity::fail, "cause", "the trainer stands still: no step since");
  seen = well();
  seen.status.document["run"]["shortfall"] = "its goal was missed";
  finds(diagnose(seen), Severity::warn, "training", "goal was missed");
  seen = well();
  seen.status.document["run"]["unmatched"] = "2 of the 40 rows of shop are not at every site";
  finds(diagnose(seen), Severity::warn, "rows", "rows of shop are not at every site");
  seen = well();
  seen.status.document["node"]["warnings"] = {"the trainer says: BLAS is slow"};
  finds(diagnose(seen), Severity::warn, "cause", "BLAS is slow");
}

TEST_CASE("Two looks between which nothing moves say what the node does") {
  SeenNode seen = well();
  seen.later = answer(status_of("training", 100));
  seen.later.document["time"]["wait_s"] = 1.9;
  finds(diagnose(seen), Severity::warn, "rounds", "waits for neighbours");
  seen.later.document["time"] = {{"compute_s", 1.9}, {"wait_s", 1.0}};
  finds(diagnose(seen), Severity::warn, "rounds", "it computes");
  // A step within a long round is progress.
  seen.later.document["run"]["steps"] = 101;
  CHECK(std::ranges::all_of(
      diagnose(seen), [](const Finding& finding) { return finding.severity == Severity::ok; }));
}

TEST_CASE("Members that are silent and edges that are refused are found") {
  for (const std::string state : {"suspect", "dead"}) {
    SeenNode seen = well();
    seen.members.document["members"][1] = {
        {"name", "node-1"}, {"control", "10.0.0.2:7600"}, {"state", state}, {"last_heard_s", 75}};
    finds(diagnose(seen), Severity::warn, "members",
          "node-1 at 10.0.0.2:7600 is " + state + ": no news of it for 1 min 15 s");
  }
  SeenNode seen = well();
  seen.neighbors.document["neighbors"][0]["state"] = "refused: model.kind is mlp there";
  finds(diagnose(seen), Severity::fail, "links", "model.kind");
  seen.neighbors.document["neighbors"][0] = {
      {"name", "node-1"}, {"state", "late"}, {"staleness", 7}};
  finds(diagnose(seen), Severity::warn, "links", "7 rounds behind");
}

TEST_CASE("A port of another node that is not open is found with what to do") {
  for (const auto& [state, advice] : {std::pair{PortState::refused, "start the node"},
                                      {PortState::unanswered, "firewall"},
                                      {PortState::silent, "kill -CONT"},
                                      {PortState::other, "another program"},
                                      {PortState::unreachable, "routes"},
                                      {PortState::unknown_name, "correct the name"},
                                      {PortState::slow_names, "name server"}}) {
    SeenNode seen = well();
    seen.ports[1].state = state;
    finds(diagnose(seen), Severity::fail, "ports", "the port of node-2, 127.0.0.1:7611");
    CHECK(trouble_of(diagnose(seen)).advice.find(advice) != std::string::npos);
  }
}

TEST_CASE("What another machine cannot reach is only warned of") {
  SeenNode seen = well();
  seen.is_local = false;
  seen.ports[0].state = PortState::unanswered;
  finds(diagnose(seen), Severity::warn, "ports", "the port of node-1");
  seen.ports[0].state = PortState::refused;
  finds(diagnose(seen), Severity::fail, "ports", "the port of node-1");
}

TEST_CASE("Messages that were refused are warned of unless that is normal") {
  SeenNode seen = well();
  seen.status.document["rejected"] = {{"repeated", 9}, {"cluster", 3}};
  seen.status.document["rejected_messages"] = {
      {"repeated", {{"meaning", "normal: it came a second time"}}},
      {"cluster", {{"meaning", "a node of another cluster.id speaks to this one"}}}};
  finds(diagnose(seen), Severity::warn, "refused", "3 messages as \"cluster\": a node of another");
}

TEST_CASE("Clock and disk and memory and descriptors are held against their limits") {
  SeenNode seen = well();
  seen.clock_ahead_s = 90;
  finds(diagnose(seen), Severity::warn, "clock", "1 min 30 s ahead of");
  seen.clock_ahead_s = -6;
  finds(diagnose(seen), Severity::warn, "clock", "6.0 s behind");
  seen = well();
  seen.folder->space = Space{0, 1e9};
  finds(diagnose(seen), Severity::fail, "disk", "/var/lib/starling has 0 B free");
  seen.folder->space = Space{1e6, 1e9};
  finds(diagnose(seen), Severity::warn, "disk", "1.00 MB free");
  seen.folder = Folder{.path = "/nowhere", .problem = "No such file or directory"};
  finds(diagnose(seen), Severity::warn, "disk", "No such file");
  seen = well();
  seen.memory = Space{1e8, 8e9};
  finds(diagnose(seen), Severity::warn, "memory", "100 MB of 8.00 GB free");
  seen = well();
  seen.status.document["descriptors"]["used"] = 1000;
  finds(diagnose(seen), Severity::warn, "files", "1000 descriptors of 1024, 128 for HTTP");
  seen.status.document["descriptors"] = {{"used", 42}, {"allowed", 80}};
  finds(diagnose(seen), Severity::warn, "files", "42 descriptors of 80, 10 for HTTP");
}

TEST_CASE("A node that is kept from its processors between two looks is told") {
  SeenNode seen = well();
  seen.later.document["cores"]["throttled"] = 16;
  finds(diagnose(seen), Severity::warn, "cores", "the time of 1.5 cores in 9 periods");
  seen = well();
  seen.later.document["cores"]["overheated"] = 3;
  finds(diagnose(seen), Severity::warn, "cores", "heat");
}

TEST_CASE("A reason that others wait says where to look") {
  for (const auto& [reason, advice] :
       {std::pair{"node-2 holds up the others: 84 % of the rounds' time", "node's machine"},
        {"waits for the network 61 % of the time: 0.2 MB a round over 0.05 MB/s from b", "thin"},
        {"fetching the model from node-1", "see ports"},
        {"node-2 is paused", "starling doctor"}}) {
    SeenNode seen = well();
    seen.status.document["node"]["reasons"] = {reason};
    finds(diagnose(seen), Severity::warn, "cause", reason);
    CHECK(trouble_of(diagnose(seen)).advice.find(advice) != std::string::npos);
  }
  SeenNode seen = well();
  seen.status.document["node"]["state"] = "paused";
  seen.status.document["trainer"] = {{"state", "lost"}, {"reason", "its process ended"}};
  CHECK(diagnose(seen)[2].advice.find("starling resume") == std::string::npos);
}

TEST_CASE("Documents of another shape make a diagnosis and no crash") {
  for (const char* text : {"[]", "7", "null", R"({"node":7,"run":[],"rejected":[1],"members":7})",
                           R"({"node":{"name":7,"reasons":"x"},"members":[7,{"state":1}],)"
                           R"("neighbors":[[]],"rejected":{"a":"b"},"rejected_messages":7})"}) {
    SeenNode seen = well();
    for (Answer* each : {&seen.status, &seen.members, &seen.neighbors, &seen.later})
      each->document = json::parse(text);
    CHECK_FALSE(diagnose(seen).empty());
  }
}

TEST_CASE("The port of a peer is told from others") {
  SeenPeer seen{.at = {"10.0.0.2", 7600}, .state = PortState::greets};
  CHECK(diagnose(seen) ==
        std::vector<Finding>{{Severity::ok, "port", "10.0.0.2:7600 answers as a node does", ""}});
  seen.state = PortState::unanswered;
  finds(diagnose(seen), Severity::fail, "port", "does not answer");
  seen.state = PortState::silent;
  seen.is_rest = true;
  finds(diagnose(seen), Severity::fail, "port", "is the REST interface");
}

TEST_CASE("A probe tells who greets from who is silent and who is not there") {
  const Listener silent;
  Endpoint gone;
  { gone = Listener().at; }
  const std::array ports{silent.at, gone, Endpoint{"no-such-host.invalid", 7600}};
  const auto awaited = probe_ports(ports, Awaited::greeting, std::chrono::milliseconds(100));
  CHECK(awaited[0] == PortState::silent);
  CHECK(awaited[1] == PortState::refused);
  CHECK((awaited[2] == PortState::unknown_name || awaited[2] == PortState::slow_names));
  const auto connected =
      probe_ports(std::span(ports).first(2), Awaited::connection, std::chrono::seconds(60));
  CHECK(connected == std::vector{PortState::silent, PortState::refused});
}

TEST_CASE("The date of an answer is read back as it was written") {
  CHECK(http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);
  CHECK_FALSE(parse_http_date("").has_value());
  CHECK_FALSE(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT and more").has_value());
}

TEST_CASE("A checkpoint that finds no room fails the disk wherever the folder is") {
  for (const char* path : {"relative", "/var/lib/starling"}) {
    SeenNode seen = well();
    seen.folder->path = path;
    seen.status.document["checkpoint"] = {
        {"problem", "checkpoint-7.part: No space left on device"}};
    finds(diagnose(seen), Severity::fail, "disk", "No space left on device");
  }
}
