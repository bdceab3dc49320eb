#include "daemon/rest/host_list.h"

#include <arpa/inet.h>

#include <algorithm>

namespace starling::daemon {
namespace {

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return small;
}

// "[::1]:80" -> "::1", "name:80" -> "name"; an address of IPv6 in its one spelling.
std::string host_of(std::string_view field) {
  if (!field.starts_with('[')) return small_letters(field.substr(0, field.find(':')));
  const std::string_view inner = field.substr(1, field.find(']') - 1);
  return parse_host(inner).value_or(small_letters(inner));
}

bool is_address(const std::string& host) {
  in6_addr address;  // large enough for both
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

HostList::HostList(const Endpoint& bind, std::vector<std::string> extra)
    : names_(std::move(extra)), any_address_(!is_loopback(bind)) {
  names_.push_back(bind.host);
  names_.push_back("localhost");
  for (std::string& name : names_) name = small_letters(name);
}

bool HostList::allows(std::string_view field) const {
  const std::string host = host_of(field);
  if (std::ranges::find(names_, host) != names_.end()) return true;
  // 127.evil.example starts like a loopback address and is none.
  return is_address(host) && (any_address_ || is_loopback({.host = host}));
}

}  // namespace starling::daemon
