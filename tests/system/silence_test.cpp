// Nothing fails in silence: what a person can mend has a reason in the status, a line in the log,
// and a line of `starling up` where that is who started the node.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "daemon/process/zmq_transport.h"
#include "tests/daemon/raw_client.h"
#include "tests/lengths.h"
#include "tests/system/harness.h"

using namespace starling;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::Daemon;
using testing::eventually;

namespace {

using Arguments = std::vector<std::string>;

Arguments small(const Arguments& more) {
  Arguments arguments = {"--data.samples=2000", "--model.kind=softmax", "--topology.kind=ring"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string join(const Endpoint& at) {
  return "--join=" + to_string(at);
}

std::vector<std::string> texts(const Daemon& node, const char* list) {
  const json status = node.get("/v1/status");
  if (!status.is_object() || !status.contains("node")) return {};
  return status["node"][list].get<std::vector<std::string>>();
}

std::vector<std::string> reasons(const Daemon& node) {
  return texts(node, "reasons");
}

std::vector<std::string> warnings(const Daemon& node) {
  return texts(node, "warnings");
}

bool holds(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::any_of(texts, [&](const std::string& one) { return one.find(text) == 0; });
}

std::string log_of(Daemon& node) {
  std::ifstream stream(node.process().log_path());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// In the status and in the log, word for word.
bool says(Daemon& node, const std::string& text) {
  const bool is_said = eventually(
      [&] { return holds(reasons(node), text) && log_of(node).find(text) != std::string::npos; });
  if (!is_said) {
    const json seen = reasons(node);
    MESSAGE(node.name() << " does not say: " << text << "\nbut: " << seen.dump());
  }
  return is_said;
}

// That `starling up` with these arguments prints `text`. Its nodes have no keys, as those of the
// tests have none.
void up_prints(const std::string& arguments, const std::string& text) {
  const testing::Outcome outcome = testing::run(
      "up --security.insecure=true --listen.http=127.0.0.1:0 --data.samples=400 "
      "--model.kind=softmax " +
      arguments);
  CAPTURE(outcome.out);
  CAPTURE(outcome.err);
  CHECK(outcome.out.find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("A seed at which nobody listens is named") {
  const std::string text = "cluster.join = \"127.0.0.1:1\": nobody listens there";
  Daemon node("node", small({"--join=127.0.0.1:1"}));
  CHECK(says(node, text));
  CHECK(holds(reasons(node), text));
  CHECK(node.round() == 0);  // it was told to join somebody
  up_prints("-n 2 --stop.seconds=2 --cluster.join=127.0.0.1:1", ": " + text);
}

TEST_CASE(
    "A seed that takes connections and says nothing is named and is forgiven when it speaks") {
  // A node of another protocol, or one that hangs: its socket accepts, and it never answers.
  auto silent = daemon::ZmqTransport::bind({.self = NodeId{1}, .listen = {"127.0.0.1", 0}});
  REQUIRE(silent.has_value());
  const Endpoint at = (*silent)->endpoint();
  Daemon node("node", small({join(at)}));
  const std::string text =
      "cluster.join = \"" + to_string(at) +
      "\": no answer; what listens there is no node, hangs, or cannot reach this node at " +
      to_string(node.control());
  CHECK(says(node, text));
  silent->reset();
  Daemon late("late", small({"--listen.control=" + to_string(at)}));
  CHECK(eventually([&] { return reasons(node).empty() && node.members("alive") == 2; }));
}

TEST_CASE("A variable that is no key is in the status") {
  ::setenv("STARLING_OPTIM_LEARNING_RAET", "1", 1);
  Daemon node("node", small({}));
  ::unsetenv("STARLING_OPTIM_LEARNING_RAET");
  CHECK(says(node,
             "STARLING_OPTIM_LEARNING_RAET: no key has this name, and it is not used; did you mean "
             "STARLING_OPTIM_LEARNING_RATE?"));
}

TEST_CASE("Expected members are waited for until they come") {
  Daemon first("first", small({"--cluster.expect=2"}));
  CHECK(says(first,
             "1 of 2 expected members are here (cluster.expect); waiting for the rest for as long "
             "as it takes; cluster.expect = 1 at each of them begins without the rest"));
  CHECK(first.round() == 0);
  Daemon second("second", small({"--cluster.expect=2", join(first.control())}));
  CHECK(eventually([&] { return first.round() > 5 && second.round() > 5; }));
}

TEST_CASE("Nodes of up wait ten seconds for each other and not for ever") {
  const std::string log = testing::temporary_file("patience.log", "");
  auto up =
      daemon::ChildProcess::start({testing::program(), "up", "-n", "2", "--listen.http=127.0.0.1:0",
                                   "--data.source=reference", "--output=/dev/null"},
                                  log);
  REQUIRE(up);
  const std::string before = "--api http://";
  std::string text;
  CHECK(eventually([&] {
    std::ifstream stream(log);
    text.assign(std::istreambuf_iterator<char>(stream), {});
    return text.find('\n', std::min(text.find(before), text.size())) != std::string::npos;
  }));
  const std::size_t begin = text.find(before) + before.size();
  const auto at = parse_endpoint(text.substr(begin, text.find('\n', begin) - begin));
  REQUIRE(at);
  const auto reply = daemon::http_request(*at, "GET", "/v1/config", "", 10s);
  REQUIRE(reply);
  CHECK(json::parse(reply->body)["cluster.expect-patience"]["value"] == "60");
  up->signal(SIGTERM);
  CHECK(up->wait(60s));
}

TEST_CASE("Expected members that do not come are counted") {
  const std::string patience = "--cluster.expect-patience=4";
  Daemon first("first", small({"--cluster.expect=3", patience}));
  Daemon second("second", small({"--cluster.expect=3", patience, join(first.control())}));
  for (Daemon* node : {&first, &second}) {
    CHECK(says(*node, "2 of 3 expected members are here (cluster.expect); waiting for the rest"));
  }
  for (Daemon* node : {&first, &second}) {
    CHECK(says(*node, "2 of 3 expected members came (cluster.expect); the rest is not waited for"));
    CHECK(eventually([&] { return node->round() > 5; }));
  }
  Daemon third("third", small({join(first.control())}));
  CHECK(eventually([&] { return reasons(first).empty() && reasons(second).empty(); }));
}

TEST_CASE("Nodes of two clusters tell each other so") {
  Daemon a("a", small({"--cluster.id=alpha"}));
  Daemon b("b", small({"--cluster.id=beta", join(a.control())}));
  CHECK(says(b, to_string(a.control()) + " is of cluster \"alpha\"; this node of \"beta\""));
  CHECK(says(a, to_string(b.control()) + " is of cluster \"beta\"; this node of \"alpha\""));
  CHECK(warnings(a).size() == 1);
  CHECK(warnings(b).size() == 1);
  CHECK(a.members("alive") == 1);
  // Of equal names too.
  Daemon namesake("a", small({"--cluster.id=gamma", join(a.control())}));
  CHECK(
      says(namesake, to_string(a.control()) + " is of cluster \"alpha\"; this node of \"gamma\""));
}

TEST_CASE("A node that nobody can dial is told why it is refused") {
  std::string keys;
  SUBCASE("without keys") {}
  SUBCASE("with keys") {
    keys = testing::temporary_file("starling-cluster.key", "");
    std::filesystem::remove(keys);
    REQUIRE(testing::run("keygen cluster --out " + keys).exit_code == 0);
  }
  const auto node = [&](const std::string& name, std::vector<std::string> more) {
    if (!keys.empty()) more.push_back("--cluster-key=" + keys);
    return std::make_unique<Daemon>(name, small(std::move(more)));
  };
  const std::string hidden = "--listen.advertise=none";
  const auto a = node("a", {"--cluster.id=alpha"});
  const std::string at = to_string(a->control());
  const auto other = node("b", {hidden, "--cluster.id=beta", join(a->control())});
  CHECK(says(*other, at + " is of cluster \"alpha\"; this node of \"beta\""));
  CHECK(says(*a, "a node that nobody can dial is of cluster \"beta\"; this node of \"alpha\""));
  if (!keys.empty()) return;  // of two keys for one name the later counts
  const auto first = node("d", {hidden, "--cluster.id=alpha", join(a->control())});
  REQUIRE(eventually([&] { return a->members("alive") == 2; }));
  const auto second = node("d", {hidden, "--cluster.id=alpha", join(a->control())});
  CHECK(says(*second, "waiting until the node that nobody can dial, which has this name, is dead"));
  CHECK(a->members("alive") == 2);
}

TEST_CASE("A seed whose UDP port is shut is named with the protocol") {
  const std::string keys = testing::temporary_file("starling-cluster.key", "");
  std::filesystem::remove(keys);
  REQUIRE(testing::run("keygen cluster --out " + keys).exit_code == 0);
  // It takes connections by TCP, and has no certificate to tell by UDP.
  auto mute = daemon::ZmqTransport::bind({.self = NodeId{1}, .listen = {"127.0.0.1", 0}});
  REQUIRE(mute.has_value());
  const Endpoint at = (*mute)->endpoint();
  const std::string place = to_string(at);
  Daemon node("node", small({"--cluster-key=" + keys, join(at)}));
  CHECK(says(node, "cluster.join = \"" + place +
                       "\": no answer by UDP to the question for its key: open UDP port " +
                       std::to_string(at.port) + " there, or name the key, " + place + "#KEY"));
}

TEST_CASE("A node that nobody can dial takes the place of its earlier life with another key") {
  const std::string keys = testing::temporary_file("starling-cluster.key", "");
  std::filesystem::remove(keys);
  REQUIRE(testing::run("keygen cluster --out " + keys).exit_code == 0);
  const std::string signing = "--cluster-key=" + keys;
  Daemon a("a", small({signing}));
  const auto hidden = small({signing, "--listen.advertise=none", join(a.control())});
  Daemon first("d", hidden);
  REQUIRE(eventually([&] { return a.members("alive") == 2; }));
  const std::time_t then = std::time(nullptr);
  REQUIRE(eventually([&] { return std::time(nullptr) > then; }));  // certificates count seconds
  Daemon second("d", hidden);
  CHECK(eventually([&] { return second.members("alive") == 2 && second.round() > a.round() / 2; }));
  CHECK(eventually([&] {
    return std::ranges::any_of(warnings(first), [](const std::string& warning) {
      return warning.ends_with("it refuses this node: superseded");
    });
  }));
}

TEST_CASE("Neighbours that train something else say what with both values") {
  Daemon a("a", small({"--optim.algorithm=dpsgd"}));
  Daemon b("b", small({"--optim.algorithm=qg", "--model.kind=mlp", "--model.hidden=8",
                       join(a.control())}));
  CHECK(
      says(a,
           "no edge to b: it has model.kind=mlp, model.hidden=8 and optim.algorithm=qg; this node "
           "softmax, 64 and dpsgd"));
  CHECK(says(b,
             "no edge to a: it has model.kind=softmax, model.hidden=64 and optim.algorithm=dpsgd; "
             "this node mlp, 8 and qg"));
}

TEST_CASE("Members that want different edges say so though neither waits for the other") {
  Daemon a("a", small({}));
  Daemon b("b", small({join(a.control())}));
  Daemon c("c", small({"--topology.kind=star", "--optim.admm-penalty=.50", join(a.control())}));
  const std::string why =
      "it has topology.kind=star and optim.admm-penalty=0.5; this node ring and 0.1";
  CHECK(says(a, "no edge to c: " + why));
  CHECK(says(b, "no edge to c: " + why));
  CHECK(says(c,
             "no edge to a: it has topology.kind=ring and optim.admm-penalty=0.1; this node "
             "star and 0.5"));
  CHECK(eventually([&] { return a.round() > 5 && b.round() > 5 && c.round() > 5; }));
  CHECK(a.get("/v1/neighbors")["neighbors"].size() == 1);
  CHECK(c.get("/v1/neighbors")["neighbors"].empty());
  up_prints("-n 2 --stop.seconds=3 --topology.kind=ring --optim.learning-rate=.05 " +
                join(a.control()).replace(0, 6, "--cluster.join"),
            ": no edge to a: it has ");
}

TEST_CASE("A newcomer without a column of the model says what does not fit") {
  const std::string few =
      testing::temporary_file("few.csv", "a,b,y\n1,2,3\n4,5,6\n7,8,10\n2,1,0\n");
  const std::string more =
      testing::temporary_file("more.csv", "a,c,b,y\n1,2,3,4\n5,6,7,9\n8,9,1,2\n3,1,4,1\n");
  const auto of = [](const std::string& path) {
    return Arguments{"--data.source=csv",   "--data.target=y",     "--data.shard=all",
                     "--model.kind=linear", "--data.holdout=0.25", "--data.path=" + path};
  };
  SUBCASE("it has fewer") {
    Daemon a("a", of(more));
    REQUIRE(eventually([&] { return a.round() > 5; }));
    Arguments second = of(few);
    second.push_back(join(a.control()));
    Daemon b("b", second);
    CHECK(says(b,
               "the model of a does not fit this node: the model has a column c, which this table "
               "has not"));
  }
  SUBCASE("it has more and leaves them out") {
    Daemon a("a", of(few));
    REQUIRE(eventually([&] { return a.round() > 5; }));
    Arguments second = of(more);
    second.push_back(join(a.control()));
    Daemon b("b", second);
    CHECK(eventually([&] { return b.round() > 5; }));
    CHECK(log_of(b).find("column c is not in the model, and left out") != std::string::npos);
  }
}

TEST_CASE("Neighbours of equal keys and unlike data say which models those make") {
  const std::string wide = testing::temporary_file("wide.txt", "1 1:1 9:2\n0 2:1\n1 1:2\n0 3:1\n");
  const std::string thin = testing::temporary_file("thin.txt", "1 1:1 4:2\n0 2:1\n1 1:2\n0 3:1\n");
  const Arguments sparse = {"--data.source=libsvm", "--data.shard=all", "--data.holdout=0.25"};
  Arguments first = sparse, second = sparse;
  first.push_back("--data.path=" + wide);
  first.push_back("--stop.rounds=50");
  first.push_back("--stop.stay=true");
  Daemon a("a", first);
  second.push_back("--data.path=" + thin);
  second.push_back("--stop.rounds=50");
  second.push_back(join(a.control()));
  Daemon b("b", second);
  CHECK(
      says(a,
           "no edge to b: it has model=logistic 4-1 f32 of libsvm, sparse; this node logistic 9-1 "
           "f32 of libsvm, sparse"));
}

TEST_CASE("A run that diverges has not reached its goal and says why") {
  const std::string keys =
      " --data.samples=400 --model.kind=mlp --optim.learning-rate=100 --stop.rounds=40"
      " --optim.local-optimizer=momentum --listen.http=127.0.0.1:0";
  const testing::Outcome all = testing::run("up -n 3" + keys);
  CAPTURE(all.out);
  CHECK(all.exit_code == 3);
  CHECK(all.out.find("Goal not reached after ") != std::string::npos);
  CHECK(all.out.find(": 3 of 3 nodes lost steps at the end; node-0: ") != std::string::npos);
  CHECK(all.out.find("lower optim.learning-rate") != std::string::npos);

  const testing::Outcome one = testing::run("run --listen.control=127.0.0.1:0" + keys);
  CAPTURE(one.err);
  CHECK(one.exit_code == 3);
  CHECK(one.err.find("starling run: goal not reached: the last steps were refused: ") !=
        std::string::npos);
  CHECK(testing::run("simulate -n 3" + keys).exit_code == 3);
}

TEST_CASE("A run that ends before its accuracy is there has not reached its goal") {
  const testing::Outcome one = testing::run(
      "run --listen.control=127.0.0.1:0 --stop.rounds=2"
      " --data.samples=400 --stop.accuracy=1 --listen.http=127.0.0.1:0");
  CAPTURE(one.err);
  CHECK(one.exit_code == 3);
  CHECK(one.err.find("stop.accuracy = 1 is not reached: accuracy ") != std::string::npos);
}

TEST_CASE("A summary does not count a node that died among those that trained") {
  // The log of the node that died is kept.
  const std::string log_path = testing::temporary_file("dead.log", "");
  ::setenv("TMPDIR", std::filesystem::path(log_path).parent_path().c_str(), 1);
  auto up = daemon::ChildProcess::start(
      {testing::program(), "up", "-n", "3", "--data.samples=400", "--model.kind=softmax",
       test::tries_full() ? "--stop.rounds=12000" : "--stop.rounds=4000",
       "--listen.http=127.0.0.1:0"},
      log_path);
  ::unsetenv("TMPDIR");
  REQUIRE(up.has_value());
  const std::string children =
      "/proc/" + std::to_string(up->pid()) + "/task/" + std::to_string(up->pid()) + "/children";
  std::vector<int> pids;
  REQUIRE(eventually([&] {
    std::ifstream stream(children);
    pids.assign(std::istream_iterator<int>(stream), {});
    std::ifstream log(up->log_path());
    const std::string text(std::istreambuf_iterator<char>(log), {});
    return pids.size() == 3 && text.find("  loss ") != std::string::npos;
  }));
  ::kill(pids[1], SIGKILL);
  REQUIRE(up->wait(120s));
  std::ifstream log(up->log_path());
  const std::string text(std::istreambuf_iterator<char>(log), {});
  CAPTURE(text);
  CHECK(up->exit_code() == 3);
  CHECK(text.find("1 of 3 nodes did not train to the end; node-1: ended before") !=
        std::string::npos);
}

TEST_CASE("A seed whose name nobody knows is named and so is one that is found by its name") {
  Daemon first("first", small({}));
  const std::string port = std::to_string(first.control().port);
  Daemon lost("lost", small({"--join=no-such-host.invalid:" + port}));
  CHECK(says(lost, "cluster.join = \"no-such-host.invalid:" + port + "\": "));
  Daemon found("found", small({"--join=localhost:" + port}));
  CHECK(eventually([&] { return first.members("alive") == 2; }));
  CHECK(eventually([&] { return reasons(found).empty(); }));
}

TEST_CASE("Two nodes of one host name and port have different names and a folder keeps its own") {
  const auto folder =
      std::filesystem::path(testing::temporary_file("x", "")).parent_path() / "kept";
  const Arguments nameless = small({"--node.name=", "--node.data-dir=" + folder.string()});
  const auto name_of = [](const Daemon& node) {
    std::string name;
    CHECK(eventually([&] {
      const json status = node.get("/v1/status");
      if (status.is_object() && status.contains("node")) name = status["node"]["name"];
      return !name.empty();
    }));
    return name;
  };
  std::string first;
  {
    Daemon one("one", nameless);
    first = name_of(one);
    Daemon other("other", small({"--node.name=", join(one.control())}));
    CHECK(name_of(other) != first);
    CHECK(eventually([&] { return one.members("alive") == 2; }));
    one.process().signal(SIGTERM);
    REQUIRE(one.process().wait(60s));
  }
  Daemon again("again", nameless);
  CHECK(name_of(again) == first);
}

TEST_CASE("A node that nobody can dial takes part over the connections that it dials itself") {
  Daemon seed("seed", small({"--topology.kind=ring"}));
  // The other node listens at 127.0.0.1 alone.
  Daemon node("node", small({"--listen.advertise=127.0.0.9", "--topology.kind=ring",
                             join(seed.control())}));
  const auto averages = [](Daemon& one) {
    const json document = one.get("/v1/neighbors");
    const json neighbors = document.is_object() ? document.value("neighbors", json()) : json();
    return neighbors.size() == 1 && neighbors[0].value("weight", 0.0) > 0;
  };
  CHECK(eventually([&] { return averages(seed) && averages(node); }));
  const std::uint64_t round = seed.round();
  CHECK(eventually([&] { return seed.round() > round + 20 && node.round() > round + 20; }));
}

TEST_CASE("A node that says that nobody can dial it takes part and the others know it") {
  Daemon seed("seed", small({"--topology.kind=ring"}));
  Daemon node("node",
              small({"--listen.advertise=none", "--topology.kind=ring", join(seed.control())}));
  CHECK(eventually([&] { return seed.round() > 20 && node.round() > 20; }));
  const auto knows = [](Daemon& one) {
    const json document = one.get("/v1/members");
    for (const json& member : document.is_object() ? document.value("members", json()) : json())
      if (member.value("name", "") == "node") return member.value("hidden", false);
    return false;
  };
  CHECK(eventually([&] { return knows(seed) && knows(node); }));
  const std::uint64_t round = seed.round();
  CHECK(eventually([&] { return seed.round() > round + 20 && node.round() > round + 20; }));
}

TEST_CASE("Addresses may be names and members show where REST listens") {
  Daemon node("node", small({"--listen.control=localhost:0", "--listen.http=localhost:0",
                             "--listen.advertise=127.0.0.1"}));
  json document;
  REQUIRE(eventually([&] {
    document = node.get("/v1/members");
    return document.is_object() && document.contains("members");
  }));
  CHECK(document["members"][0]["http"] == to_string(node.http()));
  CHECK(is_numeric(node.control()));
  CHECK(is_numeric(node.http()));
}

TEST_CASE("Requests under a name that is allowed are answered and others are told the key") {
  Daemon node("node", small({"--http.allowed-hosts=proxy.example, other.example"}));
  const auto ask = [&](const std::string& host) {
    daemon::RawClient client(node.http());
    client.send("GET /healthz HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    return client.read_until("}");
  };
  CHECK(ask("proxy.example").find("403") == std::string::npos);
  CHECK(ask("other.example:443").find("403") == std::string::npos);
  CHECK(ask("evil.example").find("or a name of http.allowed-hosts") != std::string::npos);
}

TEST_CASE("Plain averaging of data that differ is answered with what auto takes") {
  const std::string text =
      "optim.algorithm = dpsgd is biased, for data differ by node (data.partition=by-label); auto "
      "takes ed";
  const std::string keys = " --optim.algorithm=dpsgd --data.partition=by-label";
  const testing::Outcome up = testing::run(
      "up -n 4 -c configs/ring.ini --stop.rounds=3 --stop.accuracy= "
      "--data.samples=400 --listen.http=127.0.0.1:0" +
      keys);
  CAPTURE(up.err);
  CHECK(up.err.find(text) != std::string::npos);
  CHECK(up.out.find(text) == std::string::npos);  // once
  Daemon node("node", small({"--optim.algorithm=dpsgd", "--data.partition=by-label"}));
  CHECK(says(node, text));
  const testing::Outcome chosen = testing::run(
      "up -n 4 -c configs/ring.ini --stop.rounds=3 --stop.accuracy= "
      "--data.samples=400 --data.partition=by-label --listen.http=127.0.0.1:0");
  CHECK(chosen.out.find("Algorithm ed: data differ by node") != std::string::npos);
}
