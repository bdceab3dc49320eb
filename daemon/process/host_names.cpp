#include "daemon/process/host_names.h"

#include <ifaddrs.h>
#include <netdb.h>

#include <algorithm>
#include <utility>

#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

std::string numeric_text(const sockaddr& address, socklen_t size) {
  char host[NI_MAXHOST] = {};
  const int error = ::getnameinfo(&address, size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : "";
}

}  // namespace

Result<Endpoint> resolve(const Endpoint& endpoint) {
  if (is_numeric(endpoint) || endpoint.host == "*") return endpoint;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(endpoint.host.c_str(), nullptr, &hints, &found); error != 0)
    return fail("the host \"{}\" is not known: {}", endpoint.host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  return Endpoint{numeric_text(*found->ai_addr, found->ai_addrlen), endpoint.port};
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* item = list; item; item = item->ifa_next)
    if (item->ifa_addr && item->ifa_addr->sa_family == AF_INET)
      addresses.push_back(numeric_text(*item->ifa_addr, sizeof(sockaddr_in)));
  ::freeifaddrs(list);
  return addresses;
}

std::optional<Endpoint> HostNames::find(const Endpoint& endpoint) {
  if (is_numeric(endpoint)) return endpoint;
  if (!entries_.contains(endpoint.host) && entries_.size() >= kNamesLimit) return std::nullopt;
  Entry& entry = entries_[endpoint.host];
  if (!entry.is_asked && Clock::now() >= entry.next && lookups_ < kLookupsLimit) {
    entry.is_asked = true;
    look_up(endpoint);
  }
  if (!entry.address) return std::nullopt;
  return Endpoint{*entry.address, endpoint.port};
}

// Detached: at the end nobody waits for a name server.
void HostNames::look_up(const Endpoint& endpoint) {
  ++lookups_;
  quiet_thread([endpoint, shared = shared_] {
    Result<Endpoint> address = resolve(endpoint);
    const std::lock_guard lock(shared->mutex);
    shared->found.push_back({endpoint, std::move(address)});
    shared->wake.signal();
  }).detach();
}

std::vector<HostNames::Finding> HostNames::take_found() {
  std::vector<Finding> found;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->wake.clear();
    found = std::exchange(shared_->found, {});
  }
  for (const Finding& finding : found) {
    --lookups_;
    Entry& entry = entries_[finding.at.host];
    entry.is_asked = false;
    entry.next = Clock::now() + (finding.address ? kRefreshEvery : kRetryEvery);
    if (finding.address) entry.address = finding.address->host;
  }
  return found;
}

}  // namespace starling::daemon
