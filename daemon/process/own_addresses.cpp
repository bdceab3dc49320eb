#include "daemon/process/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

namespace starling::daemon {
namespace {

// Empty: an address of another family, or a link-local one.
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

// A socket of UDP that is connected chooses its own address by the routes, and sends nothing.
std::optional<std::string> source_address(const Endpoint& to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found) != 0)
    return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  const int descriptor = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return std::nullopt;
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  const bool is_known = ::connect(descriptor, found->ai_addr, found->ai_addrlen) == 0 &&
                        ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  ::close(descriptor);
  const std::string text = is_known ? text_of(reinterpret_cast<const sockaddr*>(&own)) : "";
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace starling::daemon
