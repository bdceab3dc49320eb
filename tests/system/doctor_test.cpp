#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::Daemon;
using testing::eventually;
using testing::run;

namespace {

const std::vector<std::string> kQuick{"--data.samples=200", "--model.kind=softmax",
                                      "--stop.stay=true"};

std::vector<std::string> quick(std::vector<std::string> more) {
  more.insert(more.end(), kQuick.begin(), kQuick.end());
  return more;
}

std::string api_of(const Daemon& node) {
  return "--api http://" + to_string(node.http());
}

struct Visit {
  int exit_code = -1;
  json document;

  // The words of the first finding of that check and severity; empty: there is none.
  std::string seen(const std::string& check, const std::string& severity) const {
    for (const json& finding : document["findings"])
      if (finding["check"] == check && finding["severity"] == severity) return finding["seen"];
    return "";
  }
};

Visit doctor(const std::string& arguments) {
  const testing::Outcome outcome = run("doctor --json " + arguments);
  Visit visit{outcome.exit_code, json::parse(outcome.out, nullptr, false)};
  CAPTURE(outcome.err);
  REQUIRE_FALSE(visit.document.is_discarded());
  return visit;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("The doctor finds nothing wrong with two nodes that train together") {
  Daemon first("first", quick({}));
  Daemon second("second", quick({"--cluster.join=" + to_string(first.control())}));
  REQUIRE(eventually([&] { return first.members("alive") == 2 && second.round() > 0; }));
  Visit visit;
  // Edges open after members are known.
  CHECK(eventually([&] {
    visit = doctor(api_of(first));
    return holds(visit.seen("ports", "ok"), "1 port of other nodes");
  }));
  CAPTURE(visit.document.dump(2));
  CHECK(visit.exit_code == 0);
  CHECK(visit.document["failed"] == 0);
  CHECK(holds(visit.seen("members", "ok"), "2 members"));
  CHECK(visit.seen("clock", "ok") == "as that of this machine");

  const Visit peer = doctor(to_string(first.control()));
  CHECK(holds(peer.seen("port", "ok"), "answers as a node does"));
  CHECK(peer.exit_code == 0);
  const Visit wrong = doctor(to_string(first.http()));
  CHECK(wrong.exit_code == 1);
  CHECK(holds(wrong.seen("port", "FAIL"), "REST interface"));
  CHECK(holds(doctor("--api " + to_string(first.control())).seen("api", "FAIL"),
              "port for other nodes"));

  second.process().signal(SIGKILL);
  REQUIRE(second.process().wait(std::chrono::seconds(10)));
  const Visit after = doctor(api_of(first));
  CAPTURE(after.document.dump(2));
  CHECK(after.exit_code == 1);
  CHECK(holds(after.seen("ports", "FAIL"), "of second"));
  CHECK(holds(after.seen("ports", "FAIL"), "refuses connections"));
  CHECK(doctor(to_string(second.control())).exit_code == 4);
  CHECK(doctor(api_of(second)).exit_code == 4);
}

TEST_CASE("The doctor looks at the ports of members that are no neighbours") {
  const std::string path = "--topology.kind=path";
  Daemon first("a", quick({path}));
  const std::string join = "--cluster.join=" + to_string(first.control());
  Daemon second("b", quick({path, join})), third("c", quick({path, join}));
  CHECK(eventually(
      [&] { return holds(doctor(api_of(first)).seen("ports", "ok"), "2 ports of other nodes"); }));
}

TEST_CASE("The doctor names the other cluster and the token and the disk") {
  const std::string token = testing::temporary_file("token", "secret of a test\n");
  std::filesystem::permissions(token, std::filesystem::perms::owner_read);
  const std::string wrong = testing::temporary_file("wrong", "guess\n");
  const std::string folder = std::filesystem::path(token).parent_path().string() + "/doctor-data";
  Daemon first("one", quick({"--http.token-file=" + token, "--listen.http=0.0.0.0:0",
                             "--node.data-dir=" + folder}));
  Daemon other("two",
               quick({"--cluster.id=another", "--cluster.join=" + to_string(first.control())}));
  const std::string api = "--api http://127.0.0.1:" + std::to_string(first.http().port);
  CHECK(holds(doctor(api).seen("token", "FAIL"), "wants a token"));
  CHECK(doctor(api).exit_code == 1);
  CHECK(holds(doctor(api + " --token-file " + wrong).seen("token", "FAIL"), "not that of"));
  Visit visit;
  CHECK(eventually([&] {
    visit = doctor(api + " --token-file " + token);
    return holds(visit.seen("cause", "FAIL"), "is of cluster \"another\"");
  }));
  CAPTURE(visit.document.dump(2));
  CHECK(visit.exit_code == 1);
  CHECK(holds(visit.seen("refused", "warn"), "another cluster.id"));
  CHECK((visit.seen("disk", "ok") + visit.seen("disk", "warn"))
            .starts_with("node.data-dir " + folder + " has "));
}

TEST_CASE("The doctor says what to do and how it is asked") {
  const testing::Outcome closed = run("doctor --api 127.0.0.1:1");
  CHECK(closed.exit_code == 4);
  CHECK(closed.out.starts_with("FAIL  api       http://127.0.0.1:1 refuses connections"));
  CHECK(holds(closed.out, "=> start a node with starling run"));
  CHECK(run("doctor nowhere").exit_code == 2);
  CHECK(run("doctor a:1 b:2").exit_code == 2);
  CHECK(run("doctor --api 127.0.0.1:1 a:1").exit_code == 2);
}
