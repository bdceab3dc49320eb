#include "daemon/process/dns.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "daemon/process/own_addresses.h"

namespace starling::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 2;
// For all hosts of a service, looked up one after another. Longer: one without an answer delays the
// others more.
constexpr std::chrono::seconds kServicePatience{10};
constexpr std::size_t kServiceRecordBytesLeast = 7;  // three numbers and the root
constexpr std::size_t kV4Bytes = 4, kV6Bytes = 16;

// ---- reading an answer

bool is_somebody(const std::string& address) {
  in_addr v4;
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    const std::uint32_t number = ntohl(v4.s_addr);
    return number >> 24 != 0 && number >> 28 != 0xe && number != INADDR_BROADCAST;
  }
  in6_addr v6;
  return ::inet_pton(AF_INET6, address.c_str(), &v6) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&v6) &&
         !IN6_IS_ADDR_MULTICAST(&v6) && !IN6_IS_ADDR_LINKLOCAL(&v6);
}

void read_address(const ns_rr& record, int family, DnsAnswer& answer) {
  const std::string text = numeric_text(ns_rr_rdata(record), family);
  if (is_somebody(text) && answer.addresses.size() < kDnsAddressesLimit)
    answer.addresses.push_back(text);
}

// A service that is not offered names the root as its host.
Result<void> read_service(const ns_msg& message, const ns_rr& record, DnsAnswer& answer) {
  const unsigned char* data = ns_rr_rdata(record);
  std::array<char, NS_MAXDNAME> host{};
  if (ns_rr_rdlen(record) < kServiceRecordBytesLeast ||
      ::dn_expand(ns_msg_base(message), ns_msg_end(message), data + 6, host.data(), host.size()) <
          0)
    return fail("a record SRV is broken");
  const DnsService service{static_cast<std::uint16_t>(ns_get16(data)),
                           {host.data(), static_cast<std::uint16_t>(ns_get16(data + 4))}};
  const bool is_offered =
      service.at.port > 0 && is_host(service.at.host) && !is_numeric(service.at);
  if (is_offered && answer.services.size() < kDnsServicesLimit) answer.services.push_back(service);
  return {};
}

Result<void> read_record(const ns_msg& message, const ns_rr& record, DnsAnswer& answer) {
  if (ns_rr_class(record) != ns_c_in) return {};
  if (ns_rr_type(record) == ns_t_a && ns_rr_rdlen(record) == kV4Bytes)
    read_address(record, AF_INET, answer);
  if (ns_rr_type(record) == ns_t_aaaa && ns_rr_rdlen(record) == kV6Bytes)
    read_address(record, AF_INET6, answer);
  if (ns_rr_type(record) == ns_t_srv) return read_service(message, record, answer);
  return {};
}

// ---- asking

// The state of the system's resolver for one thread.
class NameServers {
 public:
  explicit NameServers(const DnsOptions& options) {
    is_set_up_ = ::res_ninit(&state_) == 0;
    state_.retrans = static_cast<int>(options.patience.count());
    state_.retry = kTries;
    if (!options.server) return;
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(options.server->port);
    ::inet_pton(AF_INET, options.server->host.c_str(), &server.sin_addr);
    state_.nscount = 1;
    state_.nsaddr_list[0] = server;
  }
  ~NameServers() {
    if (is_set_up_) ::res_nclose(&state_);
  }
  NameServers(const NameServers&) = delete;
  NameServers& operator=(const NameServers&) = delete;

  // A name without records of that type is no error.
  Result<DnsAnswer> ask(const std::string& name, ns_type type) {
    if (!is_set_up_) return fail("\"{}\": the resolver of the system cannot be used", name);
    const int size = ::res_nsearch(&state_, name.c_str(), ns_c_in, type, buffer_.data(),
                                   static_cast<int>(buffer_.size()));
    if (size < 0) return refusal(name);
    const auto bytes = std::min(static_cast<std::size_t>(size), buffer_.size());
    auto answer = read_dns_answer(std::span(buffer_).first(bytes));
    if (!answer)
      return fail("the answer of the name server for \"{}\": {}", name, answer.error().text);
    return answer;
  }

 private:
  Result<DnsAnswer> refusal(const std::string& name) const {
    if (state_.res_h_errno == NO_DATA) return DnsAnswer{};
    if (state_.res_h_errno == HOST_NOT_FOUND)
      return fail("the name servers do not know \"{}\" yet", name);
    return fail("no name server answers for \"{}\"", name);
  }

  struct __res_state state_ {};
  bool is_set_up_ = false;
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(kDnsAnswerBytesLimit);
};

// Fails only if neither family has an answer.
Result<std::vector<std::string>> addresses_of(const std::string& name, NameServers& servers) {
  auto v4 = servers.ask(name, ns_t_a);
  auto v6 = servers.ask(name, ns_t_aaaa);
  if (!v4 && !v6) return tl::unexpected(v4.error());
  std::vector<std::string> all = v4 ? std::move(v4->addresses) : std::vector<std::string>();
  if (v6) all.insert(all.end(), v6->addresses.begin(), v6->addresses.end());
  std::ranges::sort(all);
  const auto twice = std::ranges::unique(all);
  all.erase(twice.begin(), twice.end());
  if (all.size() > kDnsAddressesLimit) all.resize(kDnsAddressesLimit);
  return all;
}

Result<std::vector<Endpoint>> look_up_hosts(const SeedName& name, NameServers& servers) {
  TRY(const auto addresses, addresses_of(name.at.host, servers));
  std::vector<Endpoint> found;
  for (const std::string& address : addresses) found.push_back({address, name.at.port});
  if (found.empty()) return fail("\"{}\" has no address yet", name.at.host);
  return found;
}

Result<std::vector<Endpoint>> look_up_service(const SeedName& name, NameServers& servers) {
  const auto until = Clock::now() + kServicePatience;
  TRY(DnsAnswer answer, servers.ask(name.at.host, ns_t_srv));
  if (answer.services.empty()) return fail("\"{}\" has no record SRV yet", name.at.host);
  std::ranges::sort(answer.services, {}, [](const DnsService& service) {
    return std::tuple(service.priority, service.at.host, service.at.port);
  });
  std::vector<Endpoint> found;
  std::string problem;
  for (const DnsService& service : answer.services) {
    if (Clock::now() > until || found.size() >= kDnsAddressesLimit) break;
    // The final dot makes the name absolute: no search domain is appended.
    const auto addresses = addresses_of(service.at.host + ".", servers);
    if (!addresses) problem = addresses.error().text;
    for (const std::string& address : addresses.value_or(std::vector<std::string>()))
      if (found.size() < kDnsAddressesLimit) found.push_back({address, service.at.port});
  }
  if (!found.empty()) return found;
  if (!problem.empty()) return fail("{}", problem);
  return fail("no host of \"{}\" has an address yet", name.at.host);
}

}  // namespace

Result<DnsAnswer> read_dns_answer(std::span<const unsigned char> message) {
  ns_msg parsed;
  if (message.size() > kDnsAnswerBytesLimit ||
      ::ns_initparse(message.data(), static_cast<int>(message.size()), &parsed) != 0)
    return fail("is no message of the DNS");
  DnsAnswer answer;
  for (int k = 0; k < ns_msg_count(parsed, ns_s_an); ++k) {
    ns_rr record;
    if (::ns_parserr(&parsed, ns_s_an, k, &record) != 0) return fail("a record is broken");
    TRY_DO(read_record(parsed, record, answer));
  }
  return answer;
}

Result<std::vector<Endpoint>> look_up(const SeedName& name, const DnsOptions& options) {
  ENSURE(name.is_in_dns(), "an address is not looked up in the DNS");
  NameServers servers(options);
  return name.kind == SeedName::Kind::service ? look_up_service(name, servers)
                                              : look_up_hosts(name, servers);
}

}  // namespace starling::daemon
