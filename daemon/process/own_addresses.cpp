#include "daemon/process/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "daemon/process/socket_connect.h"

namespace starling::daemon {
namespace {

// The text of an address; empty for another family, or a link-local address.
std::string text_of(const sockaddr* address) {
  if (!address) return {};
  if (address->sa_family == AF_INET)
    return numeric_text(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr, AF_INET);
  if (address->sa_family != AF_INET6) return {};
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return IN6_IS_ADDR_LINKLOCAL(&v6) ? std::string() : numeric_text(&v6, AF_INET6);
}

}  // namespace

std::string numeric_text(const void* address, int family) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, address, text.data(), text.size()) ? text.data() : "";
}

std::vector<OwnAddress> own_addresses() {
  std::vector<OwnAddress> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* item = list; item; item = item->ifa_next) {
    const std::string text = item->ifa_flags & IFF_UP ? text_of(item->ifa_addr) : std::string();
    if (!text.empty()) addresses.push_back({item->ifa_name, text});
  }
  std::ranges::stable_partition(
      addresses, [](const OwnAddress& own) { return own.address.find(':') == std::string::npos; });
  return addresses;
}

std::vector<std::string> own_address_texts() {
  std::vector<std::string> texts;
  for (const OwnAddress& own : own_addresses()) texts.push_back(own.address);
  return texts;
}

// Connecting a UDP socket chooses its own address by the routes, and sends nothing.
std::optional<std::string> source_address(const Endpoint& to) {
  const SystemAddress address = numeric_address(to, SOCK_DGRAM);
  if (!address) return std::nullopt;
  const OpenFile socket(::socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  const bool is_known =
      socket && ::connect(socket.number(), address->ai_addr, address->ai_addrlen) == 0 &&
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
  const std::string text = is_known ? text_of(reinterpret_cast<const sockaddr*>(&own)) : "";
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace starling::daemon
