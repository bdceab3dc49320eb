// Host names and the addresses that they stand for. A look-up may take as long as a name server
// that does not answer, so that none is done in the thread that moves the messages.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "daemon/process/wake.h"

namespace starling::daemon {

// The endpoint with an address for its host. Waits for the name server.
Result<Endpoint> resolve(const Endpoint& endpoint);
// Of this machine, for a person who named another one.
std::vector<std::string> own_addresses();

class HostNames {
 public:
  // With an address for its host; nothing as long as none is known. Then a look-up begins, and
  // again from time to time.
  std::optional<Endpoint> find(const Endpoint& endpoint);

  struct Finding {
    Endpoint at;  // as it was asked for
    Result<Endpoint> address;
  };
  // What look-ups have found since the last call.
  std::vector<Finding> take_found();
  // Readable when there is something to take.
  int descriptor() const { return shared_->wake.descriptor(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::optional<std::string> address = {};
    bool is_asked = false;  // a look-up is under way
    Clock::time_point next{};
  };
  // Outlives this object where a look-up does.
  struct Shared {
    std::mutex mutex;
    std::vector<Finding> found;
    Wake wake;
  };

  void look_up(const Endpoint& endpoint);

  static constexpr std::size_t kNamesLimit = 4096;
  static constexpr std::size_t kLookupsLimit = 16;  // at once
  // From one look-up of a name to the next. Shorter: more load on the name server.
  static constexpr std::chrono::seconds kRefreshEvery{30}, kRetryEvery{5};

  std::map<std::string, Entry> entries_;  // by host
  std::size_t lookups_ = 0;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace starling::daemon
