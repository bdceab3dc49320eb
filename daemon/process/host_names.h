// HostNames: host names and their addresses. A look-up may block on a silent name server, so the
// I/O thread makes none.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/seed_name.h"
#include "daemon/process/dns.h"
#include "daemon/process/wake.h"

namespace starling::daemon {

// The endpoint with an address in place of its host name. Blocks on the name server.
Result<Endpoint> resolve(const Endpoint& endpoint);
// The same with each address of its host, at most kDnsAddressesLimit.
Result<std::vector<Endpoint>> resolve_all(const Endpoint& endpoint);

class HostNames {
 public:
  // Looks up a name. Called on threads of its own, several at once.
  using LookUp = std::function<Result<std::vector<Endpoint>>(const SeedName&)>;
  // Between look-ups of a host, and of an unknown or unreachable one. Shorter: more load on the
  // name server. Longer: a host that moved is found later.
  struct Periods {
    std::chrono::milliseconds refresh{30'000}, retry{5'000};
  };
  HostNames(LookUp look_up, Periods periods);
  // Looks up host names with the system, and names in the DNS with the servers of `options`.
  explicit HostNames(const DnsOptions& options = {});

  // The endpoint with an address of its host; nothing while none is known. Begins a look-up, and
  // another once Periods allow it.
  std::optional<Endpoint> find_or_look_up(const Endpoint& endpoint);
  // Whether a look-up of the host found no address; a later one may find one.
  bool is_unknown(const Endpoint& endpoint) const;
  // Reports that the address of find_or_look_up() does not answer. The host is looked up again
  // sooner, and the next of several addresses is used.
  void doubt(const Endpoint& endpoint);
  // Begins to look up a name in the DNS; take_found() gives the answer, once.
  void look_up(const SeedName& name);

  struct Finding {
    SeedName at;  // as requested
    // At least one; of a host the one that find_or_look_up() gives.
    Result<std::vector<Endpoint>> addresses;
    std::optional<Endpoint> before = {};  // the former address of a host
  };
  // The findings since the last call.
  std::vector<Finding> take_found();
  // Readable when there is something to take.
  int descriptor() const { return shared_->wake.descriptor(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::vector<std::string> addresses = {};
    std::size_t turn = 0;             // index of the one that find_or_look_up() gives
    std::set<std::uint16_t> ports{};  // that find_or_look_up() was called with
    bool is_asked = false;            // a look-up is under way
    Clock::time_point next{};         // of the next look-up; 0 before the first
    Clock::time_point used{};         // of the last find_or_look_up()
  };
  // Outlives this object if a look-up does.
  struct Shared {
    std::mutex mutex;
    std::vector<Finding> found;
    Wake wake;
  };

  Entry& entry_of(const std::string& host);
  void begin(const SeedName& name);
  void take_host(Finding finding, std::vector<Finding>& told);

  // Beyond it the least recently used name is deleted.
  static constexpr std::size_t kNamesLimit = 4096;
  static constexpr std::size_t kLookupsLimit = 16;  // at once
  static constexpr std::size_t kPortsLimit = 64;    // of one host

  LookUp look_up_;
  Periods periods_;
  std::map<std::string, Entry> entries_;  // by host
  std::size_t lookups_ = 0;
  std::vector<Finding> ready_;  // without a look-up
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace starling::daemon
