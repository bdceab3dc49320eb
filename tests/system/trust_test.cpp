// Whom a real node with keys lets in: each kind of stranger is refused, counted and explained, and
// nothing of what it says is applied.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/utc.h"
#include "daemon/process/zmq_transport.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/trust_files.h"
#include "gossip/wire/transfer.h"
#include "tests/daemon/raw_client.h"
#include "tests/gossip/certificates.h"
#include "tests/system/harness.h"
#include "tests/system/strangers.h"

using namespace starling;
using namespace starling::test;
using nlohmann::json;
using testing::eventually;

namespace {

const std::vector<std::string> kTraining = {"--data.samples=2000", "--model.kind=softmax",
                                            "--topology.kind=ring"};

// A folder for a node with this key, as node.data-dir.
std::string folder_of(const std::string& name, int key) {
  static int number = 0;
  const std::string marker = testing::temporary_file(fmt::format("{}-{}", name, ++number), "");
  const std::string folder = marker + "-folder";
  std::filesystem::create_directories(folder);
  REQUIRE(daemon::save_key_file(folder + "/key", daemon::KeyKind::node, test_key(key)));
  REQUIRE(daemon::save_certificate(folder + "/certificate", valid(name, test_key(key))));
  return folder;
}

std::vector<std::string> with(std::vector<std::string> arguments, const std::string& last) {
  arguments.push_back(last);
  return arguments;
}

// A node of the tests' cluster, which trains.
testing::Daemon victim(const std::string& folder = folder_of("victim", 91)) {
  return {"victim", with(kTraining, "--node.data-dir=" + folder)};
}

json security(const testing::Daemon& node) {
  const json status = node.get("/v1/status");
  return status.is_object() ? status.value("security", json::object()) : json::object();
}

bool counts(const testing::Daemon& node, const std::string& reason) {
  const json seen = security(node);
  return seen.contains("refused") && seen["refused"].value(reason, 0) > 0;
}

bool explains(const testing::Daemon& node, const std::string& words) {
  const json status = node.get("/v1/status");
  if (!status.is_object() || !status.contains("node")) return false;
  const json& warnings = status["node"]["warnings"];
  return std::ranges::any_of(warnings, [&](const json& warning) {
    return warning.get<std::string>().find(words) != std::string::npos;
  });
}

// A process that says a Join in the name of `name`, with whatever it proves itself with.
class Stranger {
 public:
  Stranger(const std::string& name, const KeyPair& key, const gossip::Certificate& certificate,
           NodeId claimed)
      : name_(name), id_(claimed) {
    auto bound = daemon::ZmqTransport::bind(
        {.self = claimed,
         .listen = {"127.0.0.1", 0},
         .credentials = std::make_shared<gossip::Credentials>(
             gossip::Credentials{KeyPair(key.seed()), certificate,
                                 gossip::Authority(cluster_key().public_key(), {})})});
    REQUIRE(bound.has_value());
    transport_ = *std::move(bound);
  }
  Stranger(const std::string& name, const KeyPair& key, const gossip::Certificate& certificate)
      : Stranger(name, key, certificate, node_id(name)) {}

  // Says it again and again until the node has counted the reason.
  bool is_refused_by(const testing::Daemon& node, const std::string& reason) {
    return eventually([&] {
      join(node);
      transport_->poll(std::chrono::milliseconds(20), {}, [](const gossip::Received&) {});
      return counts(node, reason);
    });
  }
  // Why the other end has refused it.
  std::map<std::string, std::uint64_t> own_counts() { return transport_->guard().status().refused; }
  std::vector<gossip::RefusedPeer> own_peers() { return transport_->guard().status().peers; }
  void turn() {
    transport_->poll(std::chrono::milliseconds(20), {}, [](const gossip::Received&) {});
  }
  void join(const testing::Daemon& node) { join(node.control()); }
  void join(const Endpoint& at) {
    gossip::Member self;
    self.id = node_id(name_);
    self.name = name_;
    self.control = transport_->endpoint();
    self.incarnation = wall_time() * 1000;
    self.version = 1;
    const gossip::Message message{
        {stable_hash("starling"), id_, self.incarnation, ++sequence_}, gossip::Join{self}, {}};
    transport_->send(gossip::Transport::Address{at, curve_key(test_key(91).public_key())},
                     gossip::Plane::control, cutter_.cut(message));
  }

 private:
  std::string name_;
  NodeId id_;
  std::unique_ptr<daemon::ZmqTransport> transport_;
  gossip::Cutter cutter_;
  std::uint64_t sequence_ = 0;
};

// What a row of `kStrangers` proves itself with.
struct Claim {
  gossip::Certificate certificate;
  NodeId id;
};

struct StrangerRow {
  const char* reason;
  const char* words;
  std::function<Claim(const KeyPair& key)> claim;
};

constexpr int kStrangerKey = 95;

Claim signed_by(gossip::Certificate draft, const KeyPair& by) {
  return {gossip::sign_certificate(std::move(draft), by).value(), node_id("stranger")};
}

gossip::Certificate stranger_draft(const KeyPair& key) {
  return draft_for("stranger", key);
}

const StrangerRow kStrangers[] = {
    {"unknown-key", "is not known",
     [](const KeyPair& key) { return signed_by(stranger_draft(key), key); }},
    {"other-cluster", "that of this cluster is",
     [](const KeyPair& key) { return signed_by(stranger_draft(key), test_key(96)); }},
    {"expired", "was valid until",
     [](const KeyPair& key) {
       gossip::Certificate draft = stranger_draft(key);
       draft.not_after = wall_time() - kTrustDay;
       draft.not_before = draft.not_after - kTrustDay;
       return signed_by(draft, cluster_key());
     }},
    {"not-yet-valid", "one of two clocks is wrong",
     [](const KeyPair& key) {
       gossip::Certificate draft = stranger_draft(key);
       draft.not_before = wall_time() + 40 * kTrustDay;
       return signed_by(draft, cluster_key());
     }},
    {"bad-signature", "is not signed by the key",
     [](const KeyPair& key) {
       Claim claim = signed_by(stranger_draft(key), cluster_key());
       claim.certificate.signature.bytes[5] ^= std::byte{1};
       return claim;
     }},
    {"other-key", "has proved another",
     [](const KeyPair&) {
       return Claim{valid("stranger", test_key(97)), node_id("stranger")};
     }},
    {"superseded", "a later one",
     [](const KeyPair& key) {
       gossip::Certificate draft = draft_for("victim", key);
       draft.not_before -= 10 * kTrustDay;
       Claim claim = signed_by(draft, cluster_key());
       claim.id = node_id("victim");
       return claim;
     }},
    {"other-name", "another name than its greeting", [](const KeyPair& key) {
       return Claim{valid("stranger", key), node_id("victim")};
     }}};

// The reasons that other tests of this file walk.
const std::set<std::string> kOthers = {"revoked",        "no-keys",      "needs-keys",
                                       "handshake",      "other-server", "no-greeting",
                                       "no-certificate", "refused-there"};

}  // namespace

TEST_CASE("Each stranger is refused by a node that trains, counted and explained") {
  const testing::Daemon node = victim();
  std::set<std::string> walked = kOthers;
  int number = 100;  // a key that was refused is barred for a while
  for (const StrangerRow& row : kStrangers) {
    CAPTURE(row.reason);
    walked.insert(row.reason);
    const KeyPair key = test_key(++number);
    const Claim claim = row.claim(key);
    Stranger stranger("stranger", key, claim.certificate, claim.id);
    CHECK(stranger.is_refused_by(node, row.reason));
    CHECK(eventually([&] { return explains(node, row.words); }));
    CHECK(eventually([&] {
      stranger.turn();
      return stranger.own_counts().contains("refused-there");
    }));
  }
  for (const auto& [reason, words] : gossip::Guard::reasons()) CHECK(walked.contains(reason));
  CHECK(node.members("alive") == 1);
  const std::uint64_t round = node.round();
  CHECK(eventually([&] { return node.round() > round + 5; }));
}

TEST_CASE("A member with a valid certificate is let in and both show it") {
  const testing::Daemon node = victim();
  const testing::Daemon other("other",
                              with(with(kTraining, "--node.data-dir=" + folder_of("other", 92)),
                                   "--join=" + to_string(node.control())));
  CHECK(eventually([&] { return node.members("alive") == 2 && other.members("alive") == 2; }));
  CHECK(security(node)["encrypted"] == true);
  CHECK(security(node)["refused"] == json::object());
  for (const json& member : other.get("/v1/members")["members"]) {
    CHECK(member["certificate"]["cluster_key"] == to_string(cluster_key().public_key()));
    CHECK(member["certificate"]["until"].get<std::string>().ends_with("UTC"));
  }
}

TEST_CASE("A node without keys and one with keys refuse each other, whichever dials") {
  const testing::Daemon with_keys = victim(), without("plain", kTraining);
  CHECK(without.post("/v1/join", json{{"address", to_string(with_keys.control())}}.dump()) == 202);
  CHECK(eventually([&] { return counts(without, "needs-keys") && counts(with_keys, "no-keys"); }));
  CHECK(eventually([&] { return explains(without, "it wants encryption"); }));
  CHECK(eventually([&] { return explains(with_keys, "it speaks without encryption"); }));
  // It knows no key of the other, and asks in vain; with one it finds no encryption there.
  const std::string seed =
      to_string(without.control()) + "#" + to_string(test_key(93).public_key());
  CHECK(with_keys.post("/v1/join", json{{"address", seed}}.dump()) == 202);
  CHECK(eventually([&] { return counts(without, "needs-keys") && counts(with_keys, "no-keys"); }));
  CHECK(with_keys.members("alive") == 1);
  CHECK(without.members("alive") == 1);
}

TEST_CASE("A node with another key than the seed's is not spoken to") {
  const testing::Daemon node = victim(),
                        other("other",
                              with(kTraining, "--node.data-dir=" + folder_of("other", 92)));
  const std::string seed = to_string(node.control()) + "#" + to_string(test_key(93).public_key());
  CHECK(other.post("/v1/join", json{{"address", seed}}.dump()) == 202);
  CHECK(eventually([&] { return counts(other, "other-server") && counts(node, "handshake"); }));
  CHECK(node.members("alive") == 1);
}

TEST_CASE("A routing id that another member uses takes nothing from it") {
  const testing::Daemon node = victim();
  Dealer member(node.control(), "member", 94, "one");
  REQUIRE(eventually([&] { return member.heard() > 0; }));
  Dealer thief(node.control(), "thief", 95, "one");
  thief.join();
  Dealer later(node.control(), "later", 96, "two");
  REQUIRE(eventually([&] { return later.heard() > 0; }));
  for (int k = 0; k < 3; ++k) {
    const std::size_t before = member.heard();
    member.join();
    REQUIRE(eventually([&] { return member.heard() > before; }));
  }
  CHECK(thief.heard() == 0);
  CHECK(security(node)["refused"] == json::object());
}

TEST_CASE("A node with keys says nothing to a port that speaks without encryption") {
  const testing::Daemon with_keys = victim(), without("plain", kTraining);
  Tap tap(without.control());
  const std::string seed = to_string(tap.at()) + "#" + to_string(test_key(93).public_key());
  CHECK(with_keys.post("/v1/join", json{{"address", seed}}.dump()) == 202);
  CHECK(tap.sent().size() >= 10);  // what says how it would speak
  CHECK(tap.sent().find("starling") == std::string::npos);
}

TEST_CASE("A connection that proves a key and sends no certificate, or nothing, is closed") {
  const testing::Daemon node = victim();
  Stranger silent("stranger", test_key(kStrangerKey), {}, node_id("stranger"));
  CHECK(silent.is_refused_by(node, "no-certificate"));
  daemon::RawClient mute(node.control());
  const auto began = std::chrono::steady_clock::now();
  CHECK(eventually([&] { return !mute.send(std::string("\0", 1)); }));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
}

TEST_CASE("A node that is revoked while it trains is out within five seconds and stays out") {
  const std::string folder = folder_of("victim", 91);
  const auto joining = [&](const char* name, int key, const testing::Daemon& seed) {
    return testing::Daemon(name, with(with(kTraining, "--node.data-dir=" + folder_of(name, key)),
                                      "--join=" + to_string(seed.control())));
  };
  std::string line;
  {
    const testing::Daemon node = victim(folder), stays = joining("stays", 92, node),
                          goes = joining("goes", 93, stays);
    for (const testing::Daemon* one : {&node, &stays, &goes})
      CHECK(eventually([&] { return one->members("alive") == 3 && one->round() > 5; }));
    const std::vector<gossip::Revocations::Name> names = {{"goes", wall_time()}};
    const auto list = gossip::revoke({}, names, {}, cluster_key());
    REQUIRE(list.has_value());
    const std::string path = testing::temporary_file("list.revocations", "");
    REQUIRE(daemon::save_revocations(path, *list));
    std::ifstream(path) >> line;
    const auto began = std::chrono::steady_clock::now();
    CHECK(node.post("/v1/revocations", json{{"list", line}}.dump()) == 202);
    for (const testing::Daemon* one : {&node, &stays})
      CHECK(eventually([&] {
        return one->members("alive") == 2 && security(*one).value("revocations", 0) == 1;
      }));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
    CHECK(eventually([&] { return counts(node, "revoked") || counts(stays, "revoked"); }));
    CHECK(eventually([&] { return explains(goes, "revoked"); }));
    const std::uint64_t round = node.round();
    CHECK(eventually([&] { return node.round() > round + 5; }));
    CHECK(node.members("alive") == 2);
  }
  // It knows the list when it starts again.
  const testing::Daemon node = victim(folder);
  CHECK(eventually([&] { return security(node).value("revocations", 0) == 1; }));
  CHECK(node.post("/v1/revocations", json{{"list", line + "x"}}.dump()) == 400);
}

TEST_CASE("Bytes that were recorded are not heard a second time") {
  const std::string folder = folder_of("victim", 91);
  std::string sent;
  {
    const testing::Daemon node = victim(folder);
    Tap tap(node.control());
    {
      const KeyPair key = test_key(94);
      Stranger member("member", key, valid("member", key));
      CHECK(eventually([&] {
        member.join(tap.at());
        member.turn();
        const json status = node.get("/v1/status");
        return status.contains("rejected") && !status["rejected"].empty();  // it was heard
      }));
    }
    sent = tap.sent();
  }
  CHECK(sent.size() > 500);
  const testing::Daemon node = victim(folder);  // with the same key
  daemon::RawClient replay(node.control());
  CHECK(replay.send(sent));
  CHECK(eventually([&] { return counts(node, "handshake"); }));
  CHECK(node.get("/v1/status")["rejected"].empty());
}

TEST_CASE("Of two daemons with one key and name the first stays") {
  const std::string folder = folder_of("victim", 91), copy = folder_of("victim", 91);
  gossip::Certificate renewed = draft_for("victim", test_key(91));
  renewed.not_before += 30;
  REQUIRE(daemon::save_certificate(copy + "/certificate",
                                   gossip::sign_certificate(renewed, cluster_key()).value()));
  const testing::Daemon node = victim(folder);
  testing::Daemon twin("victim", with(with(kTraining, "--node.data-dir=" + copy),
                                      "--join=" + to_string(node.control())));
  CHECK(twin.process().wait(std::chrono::seconds(60)));
  const std::uint64_t round = node.round();
  CHECK(eventually([&] { return node.round() > round + 5; }));
  CHECK(node.members("alive") == 1);
}
