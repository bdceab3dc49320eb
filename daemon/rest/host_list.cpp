#include "daemon/rest/host_list.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

namespace starling::daemon {
namespace {

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return small;
}

// "[::1]:80" -> "::1", "name:80" -> "name"; an IPv6 address in its canonical spelling. Nothing if
// it is neither, such as "name:80@other".
std::optional<std::string> host_of(std::string_view field) {
  const bool has_brackets = field.starts_with('[');
  const std::size_t end = std::min(field.find(has_brackets ? ']' : ':'), field.size());
  if (has_brackets && end == field.size()) return std::nullopt;
  const std::string_view host = has_brackets ? field.substr(1, end - 1) : field.substr(0, end);
  const std::string_view port = field.substr(end + (has_brackets ? 1 : 0));
  const bool is_port =
      port.empty() || (port.front() == ':' && std::ranges::all_of(port.substr(1), [](char c) {
                         return c >= '0' && c <= '9';
                       }));
  if (!is_port || host.empty()) return std::nullopt;
  return has_brackets ? parse_host(host).value_or(small_letters(host)) : small_letters(host);
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
  const auto host = host_of(field);
  if (!host) return false;
  if (std::ranges::find(names_, *host) != names_.end()) return true;
  // 127.evil.example starts like a loopback address and is none.
  return is_address(*host) && (any_address_ || is_loopback({.host = *host}));
}

}  // namespace starling::daemon
