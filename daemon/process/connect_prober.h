// ConnectProber: finds addresses at which no process listens. After a process was killed the system
// refuses connections at its address; for a stopped or slow one the system accepts them; a host
// that is gone or cut off answers nothing. Never waits.
#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

class ConnectProber {
 public:
  ConnectProber();
  // Begins to connect to `where`, which stands for `at`. Does not look up host names, which could
  // wait.
  void probe(const Endpoint& at, const Endpoint& where);
  void probe(const Endpoint& at) { probe(at, at); }
  // Whether some address has not answered yet.
  bool is_waiting() const { return !attempts_.empty(); }
  enum class Finding { refused, unanswered };
  // Calls `found` for each finding since the last call.
  void look(const std::function<void(const Endpoint&, Finding)>& found);

 private:
  using Clock = std::chrono::steady_clock;
  // The first decided connection decides. With lost packets one try may be lost twice; while a
  // process is stopped each try takes a place in its queue.
  struct Attempt {
    Endpoint at, address;
    std::vector<OpenFile> sockets = {};
    Clock::time_point next_try, until;
  };
  enum class Outcome { undecided, accepted, refused };

  Outcome try_again(Attempt& attempt);
  static Outcome outcome_of(const Attempt& attempt);

  static constexpr std::size_t kAttemptsLimit = 32;
  // What an attempt takes, while they take a sixteenth of all that the process may have.
  static constexpr std::size_t kAttemptDescriptors = 3;
  static constexpr std::chrono::milliseconds kTryEvery{500};
  static constexpr std::chrono::milliseconds kPatience{1500};

  const std::size_t attempts_limit_;
  std::vector<Attempt> attempts_;
  std::vector<std::pair<Endpoint, Finding>> found_;
};

}  // namespace starling::daemon
