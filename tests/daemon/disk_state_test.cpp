#include "daemon/process/disk_state.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/process/peer_keeper.h"
#include "gossip/wire/wire.h"
#include "tests/daemon/temporary_folder.h"

using namespace starling;
using namespace starling::daemon;
using test::TemporaryFolder;

namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

const std::vector<Endpoint> kPeers = {{"10.0.0.1", 7600}, {"::1", 7610}, {"host.example", 1}};

gossip::MemberStatus member(const Endpoint& control, gossip::Liveness liveness) {
  gossip::MemberStatus status;
  status.member.change([&](auto& member) { member.control = control; });
  status.liveness = liveness;
  return status;
}

// A folder as one life leaves it.
void live_once(const TemporaryFolder& folder) {
  auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  REQUIRE(state->next_incarnation(1000) == 1001);
  REQUIRE(state->save_peers(kPeers));
}

}  // namespace

TEST_CASE("The incarnation grows with every life even when the clock goes back") {
  const TemporaryFolder folder;
  std::uint64_t last = 0;
  for (const std::uint64_t clock : {5000, 5000, 10, 9000, 0}) {
    auto state = DiskState::open(folder.path() + "/made/when/missing");
    REQUIRE(state.has_value());
    const auto next = state->next_incarnation(clock);
    REQUIRE(next.has_value());
    CHECK(*next > last);
    CHECK(*next > clock);
    last = *next;
  }
}

TEST_CASE("Peers that were kept are there in the next life") {
  const TemporaryFolder folder;
  live_once(folder);
  const auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->peers() == kPeers);
  CHECK(state->warnings().empty());
}

TEST_CASE("A mark that was kept is there in the next life") {
  const TemporaryFolder folder;
  CHECK(DiskState::open(folder.path())->keep_mark("hidden-1") == "hidden-1");
  CHECK(DiskState::open(folder.path())->keep_mark("hidden-2") == "hidden-1");
}

TEST_CASE("Peers that have not changed are not written again") {
  const TemporaryFolder folder;
  auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  REQUIRE(state->save_peers(kPeers));
  std::filesystem::remove(folder / "peers");
  CHECK(state->save_peers(kPeers));
  CHECK_FALSE(std::filesystem::exists(folder / "peers"));
}

TEST_CASE("No more peers are kept than the limit") {
  const TemporaryFolder folder;
  std::vector<Endpoint> many;
  for (std::uint16_t port = 1; port <= 1000; ++port) many.push_back({"127.0.0.1", port});
  {
    auto state = DiskState::open(folder.path());
    REQUIRE(state.has_value());
    REQUIRE(state->save_peers(many));
  }
  const auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->peers().size() == kPeersKeptLimit);
  CHECK(state->peers().front() == many.front());
}

TEST_CASE("A damaged or foreign file is one warning and counts as none") {
  const TemporaryFolder folder;
  live_once(folder);
  const std::string sound = read(folder / "incarnation");
  std::vector<std::string> broken = {"",
                                     "\n",
                                     "\n\n\n",
                                     "hello",
                                     std::string(1 << 20, 'x'),
                                     std::string(3, '\0'),
                                     "starling incarnation 1\n",
                                     "starling incarnation 2\n7\n0\n"};
  for (std::size_t cut = 1; cut < sound.size(); ++cut) broken.push_back(sound.substr(0, cut));
  for (std::size_t at = 0; at < sound.size(); ++at) {
    broken.push_back(sound);
    broken.back()[at] ^= 1;
  }
  for (const std::string& text : broken) {
    CAPTURE(text.substr(0, 100));
    folder.write("incarnation", text);
    auto state = DiskState::open(folder.path());
    REQUIRE(state.has_value());
    CHECK(state->warnings().size() == 1);
    CHECK(state->peers() == kPeers);
    CHECK(state->next_incarnation(5) == 6);
  }
}

TEST_CASE("A file that cannot be read is one warning too") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "peers");
  const auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->warnings().size() == 1);
  CHECK(state->peers().empty());
}

TEST_CASE("A write that was cut short leaves what was there before") {
  const TemporaryFolder folder;
  live_once(folder);
  folder.write("incarnation.new", "starl");
  auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->warnings().empty());
  CHECK(state->next_incarnation(5) == 1002);
}

TEST_CASE("A disk that takes nothing is a warning where an incarnation lies there") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "incarnation.new");
  {
    auto fresh = DiskState::open(folder.path());
    REQUIRE(fresh.has_value());
    CHECK_FALSE(fresh->next_incarnation(5).has_value());
  }
  std::filesystem::remove(folder / "incarnation.new");
  live_once(folder);
  std::filesystem::create_directory(folder / "incarnation.new");
  auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->next_incarnation(5) == 1002);
  CHECK(state->warnings().size() == 1);
}

TEST_CASE("An incarnation that was raised while running is exceeded by the next life") {
  const TemporaryFolder folder;
  {
    auto state = DiskState::open(folder.path());
    REQUIRE(state.has_value());
    REQUIRE(state->next_incarnation(1000) == 1001);
    REQUIRE(state->save_incarnation(5000));
    REQUIRE(state->save_incarnation(7));
  }
  auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->next_incarnation(1000) == 5001);
}

TEST_CASE("A saved incarnation that no member believes is a warning and the clock counts") {
  const TemporaryFolder folder;
  {
    auto state = DiskState::open(folder.path());
    REQUIRE(state.has_value());
    REQUIRE(state->next_incarnation(1000) == 1001);
    REQUIRE(state->save_incarnation(gossip::kIncarnationLimit - 1));
  }
  auto state = DiskState::open(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->next_incarnation(2000) == 2001);
  REQUIRE(state->warnings().size() == 1);
  CHECK(state->warnings().front().find("going on from the clock") != std::string::npos);
}

TEST_CASE("A folder has one owner at a time and must be one") {
  const TemporaryFolder folder;
  {
    const auto first = DiskState::open(folder.path());
    REQUIRE(first.has_value());
    const auto second = DiskState::open(folder.path());
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().text.find("node.data-dir") != std::string::npos);
    CHECK(second.error().text.find("another node") != std::string::npos);
  }
  CHECK(DiskState::open(folder.path()).has_value());
  folder.write("plain", "");
  const auto state = DiskState::open(folder / "plain");
  REQUIRE_FALSE(state.has_value());
  CHECK(state.error().text.find("node.data-dir") != std::string::npos);
}

TEST_CASE("Those alive are kept first and those who left are not kept") {
  using gossip::Liveness;
  const Endpoint alive{"a", 1}, dead{"d", 1}, left{"l", 1}, absent{"x", 1}, self{"s", 1};
  std::vector<gossip::MemberStatus> members = {
      member(self, Liveness::alive), member(alive, Liveness::alive), member(dead, Liveness::dead),
      member(left, Liveness::left)};
  members.push_back(member({"hidden-1", 0}, Liveness::alive));
  members.front().self = true;
  const std::vector<Endpoint> kept = {absent, left, dead, alive};
  CHECK(peers_to_keep(members, kept) == std::vector<Endpoint>{alive, absent, dead});
}
