#include "daemon/process/service_notice.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"

using namespace starling;
using namespace std::chrono_literals;
using daemon::ServiceNotice;

namespace {

using Lines = std::vector<std::string>;

// What systemd is for a service: a socket of datagrams, and a watchdog with a limit of 8 s.
class Supervisor {
 public:
  explicit Supervisor(bool has_watchdog) {
    std::string pattern = std::filesystem::temp_directory_path() / "starling-notify-XXXXXX";
    ENSURE(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
    folder_ = pattern;
    const std::string path = folder_ + "/socket";
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ENSURE(path.size() < sizeof(address.sun_path), "the path of a socket is short");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    ENSURE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
           "a socket in the folder can be bound");
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    if (!has_watchdog) return;
    ::setenv("WATCHDOG_USEC", "8000000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  }
  ~Supervisor() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
    ::close(socket_);
    std::filesystem::remove_all(folder_);
  }

  // Every datagram since the last call.
  Lines heard() {
    Lines lines;
    char buffer[1024];
    for (ssize_t size; (size = ::recv(socket_, buffer, sizeof(buffer), 0)) >= 0;)
      lines.emplace_back(buffer, static_cast<std::size_t>(size));
    return lines;
  }

 private:
  std::string folder_;
  int socket_ = -1;
};

}  // namespace

TEST_CASE("A supervisor hears that the node is ready with the first turn of its loop") {
  Supervisor supervisor(false);
  ServiceNotice notice;
  notice.prepares("reads its data");
  CHECK(supervisor.heard() == Lines{"STATUS=reads its data"});
  notice.turned(Time(1s), [] { return "round 0"; });
  CHECK(supervisor.heard() == Lines{"READY=1", "STATUS=round 0"});
  notice.turned(Time(2s), [] { return "round 1"; });
  CHECK(supervisor.heard().empty());
  notice.turned(Time(6s), [] { return "round 7"; });
  CHECK(supervisor.heard() == Lines{"STATUS=round 7"});
  notice.turned(Time(11s), [] { return "round 7"; });
  CHECK(supervisor.heard().empty());
}

TEST_CASE("The watchdog is fed by turns of the loop and by nothing else") {
  Supervisor supervisor(true);
  ServiceNotice notice;
  notice.prepares("reads its data");
  const auto describe = [] { return std::string("round 0"); };
  notice.turned(Time(1s), describe);
  CHECK(supervisor.heard() ==
        Lines{"STATUS=reads its data", "READY=1", "WATCHDOG=1", "STATUS=round 0"});
  notice.turned(Time(2'900ms), describe);
  CHECK(supervisor.heard().empty());
  notice.turned(Time(3s), describe);
  CHECK(supervisor.heard() == Lines{"WATCHDOG=1"});
  notice.turned(Time(9s), describe);
  CHECK(supervisor.heard() == Lines{"WATCHDOG=1"});
}

TEST_CASE("A node that takes leave says so once and is watched until it has left") {
  Supervisor supervisor(true);
  ServiceNotice notice;
  notice.turned(Time(1s), [] { return "round 0"; });
  supervisor.heard();
  notice.stops();
  notice.stops();
  CHECK(supervisor.heard() == Lines{"STOPPING=1\nSTATUS=takes leave"});
  notice.turned(Time(20s), [] { return "leaving"; });
  CHECK(supervisor.heard() == Lines{"WATCHDOG=1"});
}

TEST_CASE("A watchdog that is meant for another process is not fed") {
  Supervisor supervisor(true);
  ::setenv("WATCHDOG_PID", "1", 1);
  ServiceNotice notice;
  notice.turned(Time(1s), [] { return "round 0"; });
  CHECK(supervisor.heard() == Lines{"READY=1", "STATUS=round 0"});
}

TEST_CASE("Nothing is described where nobody listens") {
  ServiceNotice notice;
  bool is_described = false;
  notice.prepares("reads its data");
  notice.turned(Time(1s), [&] {
    is_described = true;
    return std::string();
  });
  notice.stops();
  CHECK_FALSE(is_described);
}

TEST_CASE("The line of a service names what the node does and with how many") {
  gossip::Status status;
  status.state = gossip::State::training;
  status.run.round = 220;
  CHECK(daemon::service_line(status) == "training, round 220, 0 members");
  status.run.steps = 1;
  status.run.loss = NAN;
  CHECK(daemon::service_line(status) == "training, round 220, 0 members");
  status.run.loss = 0.14159;
  status.members.resize(2);
  CHECK(daemon::service_line(status) == "training, round 220, loss 0.1416, 2 members");
  status.members[1].liveness = gossip::Liveness::dead;
  CHECK(daemon::service_line(status) == "training, round 220, loss 0.1416, 1 member");
}
