#include "daemon/process/host_names.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "daemon/process/own_addresses.h"
#include "daemon/process/quiet_thread.h"

namespace starling::daemon {
namespace {

std::string address_text(const addrinfo& item) {
  if (item.ai_family == AF_INET)
    return numeric_text(&reinterpret_cast<const sockaddr_in*>(item.ai_addr)->sin_addr, AF_INET);
  // An IPv6 link-local address has a zone, which only getnameinfo() writes.
  char host[NI_MAXHOST] = {};
  const int error =
      ::getnameinfo(item.ai_addr, item.ai_addrlen, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : "";
}

}  // namespace

Result<std::vector<Endpoint>> resolve_all(const Endpoint& endpoint) {
  if (is_numeric(endpoint)) return std::vector<Endpoint>{endpoint};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(endpoint.host.c_str(), nullptr, &hints, &list); error != 0)
    return fail("the host \"{}\" is not known: {}", endpoint.host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<Endpoint> found;
  for (const addrinfo* item = list; item; item = item->ai_next) {
    const Endpoint at{address_text(*item), endpoint.port};
    const bool is_new = !at.host.empty() && std::ranges::find(found, at) == found.end();
    if (is_new && found.size() < kDnsAddressesLimit) found.push_back(at);
  }
  if (found.empty()) return fail("the host \"{}\" has no address", endpoint.host);
  return found;
}

Result<Endpoint> resolve(const Endpoint& endpoint) {
  TRY(const auto all, resolve_all(endpoint));
  return all.front();
}

HostNames::HostNames(LookUp look_up, Periods periods)
    : look_up_(std::move(look_up)), periods_(periods) {}

HostNames::HostNames(const DnsOptions& options)
    : HostNames(
          [options](const SeedName& name) {
            return name.is_in_dns() ? daemon::look_up(name, options) : resolve_all(name.at);
          },
          Periods{}) {}

std::optional<Endpoint> HostNames::find_or_look_up(const Endpoint& endpoint) {
  if (is_numeric(endpoint)) return endpoint;
  Entry& entry = entry_of(endpoint.host);
  entry.used = Clock::now();
  if (entry.ports.size() < kPortsLimit) entry.ports.insert(endpoint.port);
  if (!entry.is_asked && Clock::now() >= entry.next && lookups_ < kLookupsLimit) {
    entry.is_asked = true;
    begin(endpoint);
  }
  if (entry.addresses.empty()) return std::nullopt;
  return Endpoint{entry.addresses[entry.turn], endpoint.port};
}

HostNames::Entry& HostNames::entry_of(const std::string& host) {
  if (entries_.size() >= kNamesLimit && !entries_.contains(host))
    entries_.erase(
        std::ranges::min_element(entries_, {}, [](const auto& item) { return item.second.used; }));
  return entries_[host];
}

bool HostNames::is_unknown(const Endpoint& endpoint) const {
  const auto found = entries_.find(endpoint.host);
  return found != entries_.end() && found->second.next > Clock::time_point() &&
         found->second.addresses.empty();
}

void HostNames::doubt(const Endpoint& endpoint) {
  const auto found = entries_.find(endpoint.host);
  if (found == entries_.end() || found->second.addresses.empty()) return;
  Entry& entry = found->second;
  entry.next = std::min(entry.next, Clock::now() + periods_.retry);
  if (entry.addresses.size() < 2) return;
  const Endpoint before{entry.addresses[entry.turn], endpoint.port};
  entry.turn = (entry.turn + 1) % entry.addresses.size();
  for (const std::uint16_t port : entry.ports)
    ready_.push_back({Endpoint{endpoint.host, port},
                      std::vector<Endpoint>{{entry.addresses[entry.turn], port}},
                      Endpoint{before.host, port}});
  shared_->wake.signal();
}

void HostNames::look_up(const SeedName& name) {
  if (lookups_ < kLookupsLimit) return begin(name);
  ready_.push_back({name, fail("{} names are looked up already", kLookupsLimit)});
  shared_->wake.signal();
}

// Detached: the end of the program does not wait for a name server.
void HostNames::begin(const SeedName& name) {
  ++lookups_;
  quiet_thread([name, look_up = look_up_, shared = shared_] {
    Result<std::vector<Endpoint>> addresses = look_up(name);
    const std::lock_guard lock(shared->mutex);
    shared->found.push_back({name, std::move(addresses)});
    shared->wake.signal();
  }).detach();
}

// The address in use stays as long as the host has it.
void HostNames::take_host(Finding finding, std::vector<Finding>& told) {
  Entry& entry = entry_of(finding.at.at.host);
  entry.is_asked = false;
  entry.next = Clock::now() + (finding.addresses ? periods_.refresh : periods_.retry);
  if (!finding.addresses) {
    for (const std::uint16_t port : entry.ports)
      told.push_back({Endpoint{finding.at.at.host, port}, finding.addresses});
    return;
  }
  ENSURE(!finding.addresses->empty(), "a host that is known has an address");
  const std::string before = entry.addresses.empty() ? std::string() : entry.addresses[entry.turn];
  entry.addresses.clear();
  for (const Endpoint& at : *finding.addresses) entry.addresses.push_back(at.host);
  const auto same = std::ranges::find(entry.addresses, before);
  entry.turn =
      same == entry.addresses.end() ? 0 : static_cast<std::size_t>(same - entry.addresses.begin());
  const bool is_moved = !before.empty() && same == entry.addresses.end();
  for (const std::uint16_t port : entry.ports) {
    Finding one{Endpoint{finding.at.at.host, port},
                std::vector<Endpoint>{{entry.addresses[entry.turn], port}}};
    if (is_moved) one.before = Endpoint{before, port};
    told.push_back(std::move(one));
  }
}

std::vector<HostNames::Finding> HostNames::take_found() {
  std::vector<Finding> found;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->wake.clear();
    found = std::exchange(shared_->found, {});
  }
  std::vector<Finding> told = std::exchange(ready_, {});
  lookups_ -= found.size();
  for (Finding& finding : found) {
    if (finding.at.is_in_dns())
      told.push_back(std::move(finding));
    else
      take_host(std::move(finding), told);
  }
  return told;
}

}  // namespace starling::daemon
