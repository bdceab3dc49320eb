#include "daemon/process/congestion.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace starling::daemon {
namespace {

constexpr std::string_view kReplaced = "bbr", kTaken = "reno";  // reno is allowed on every Linux
constexpr std::size_t kNameBytesLimit = 16;                     // TCP_CA_NAME_MAX of the kernel

bool uses(std::string_view name, int descriptor) {
  std::array<char, kNameBytesLimit> text{};
  socklen_t size = text.size();
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, text.data(), &size) == 0 &&
         std::string_view(text.data()) == name;
}

bool has_short_round_trip(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         size >= offsetof(tcp_info, tcpi_min_rtt) + sizeof(info.tcpi_min_rtt) &&
         std::chrono::microseconds(info.tcpi_min_rtt) <= kShortRoundTrip;
}

}  // namespace

void choose_congestion_control(int descriptor) {
  if (uses(kReplaced, descriptor) && has_short_round_trip(descriptor))
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, kTaken.data(), kTaken.size());
}

}  // namespace starling::daemon
