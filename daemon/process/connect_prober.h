// ConnectProber: finds addresses at which no process listens. After a process was killed the system
// refuses connections at its address; for a stopped or slow one the system accepts them; a host
// that is gone or cut off does not answer. Never blocks.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

class ConnectProber {
 public:
  ConnectProber();
  // The address of a node, or of a stranger.
  struct Target {
    std::optional<NodeId> of;
    Endpoint at;

    friend bool operator==(const Target&, const Target&) = default;
  };
  // Begins to connect to `where`, the numeric address of the target; other addresses are ignored,
  // since a look-up could block.
  void probe(const Target& target, const Endpoint& where);
  void probe(const Endpoint& at) { probe({{}, at}, at); }
  // Whether some address has not answered yet.
  bool is_waiting() const { return !attempts_.empty(); }
  enum class Finding { refused, unanswered };
  // Calls `found` for each finding since the last call.
  void look(const std::function<void(const Target&, Finding)>& found);

 private:
  using Clock = std::chrono::steady_clock;
  // One probe, of several tries to connect: one alone may fail by packet loss. The first result of
  // a try decides. Each try takes a place in the accept queue of a stopped process.
  struct Attempt {
    Target target;
    Endpoint address;
    std::vector<OpenFile> sockets = {};
    Clock::time_point next_try, until;
  };
  enum class Outcome { undecided, accepted, refused };

  Outcome try_again(Attempt& attempt);
  static Outcome outcome_of(const Attempt& attempt);

  static constexpr std::size_t kAttemptsLimit = 32;
  // Descriptors of one attempt. All attempts take at most a sixteenth of the process's limit.
  static constexpr std::size_t kAttemptDescriptors = 3;

  const std::size_t attempts_limit_;
  std::vector<Attempt> attempts_;
  std::vector<std::pair<Target, Finding>> found_;
};

}  // namespace starling::daemon
