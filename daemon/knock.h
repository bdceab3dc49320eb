// Knocker: finds out where nobody listens. A process that was killed leaves an address at which
// the system refuses connections; one that is stopped, slow or cut off does not. Never waits.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "base/endpoint.h"

namespace starling::daemon {

class Knocker {
 public:
  ~Knocker();
  // Begins to connect. Host names are not looked up, for that may wait: only addresses count.
  void knock(const Endpoint& at);
  // Some address has not answered yet.
  bool is_waiting() const { return !attempts_.empty(); }
  // Calls `refused` for each address that was found refused since the last call.
  void look(const std::function<void(const Endpoint&)>& refused);

 private:
  struct Attempt {
    Endpoint at;
    int descriptor;
    std::chrono::steady_clock::time_point until;
  };
  static constexpr std::size_t kAttemptsLimit = 32;
  static constexpr std::chrono::seconds kPatience{2};

  std::vector<Attempt> attempts_;
  std::vector<Endpoint> refused_;
};

}  // namespace starling::daemon
