#include "daemon/setup/drawn_names.h"

#include <fmt/format.h>
#include <unistd.h>

#include <random>
#include <string_view>

namespace starling::daemon {

std::string draw_node_name(const Endpoint& control) {
  constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";
  char host[64 - 11] = "localhost";
  ::gethostname(host, sizeof(host) - 1);
  host[sizeof(host) - 1] = '\0';
  std::random_device chance;
  std::string letters;
  for (int k = 0; k < 4; ++k) letters += kLetters[chance() % kLetters.size()];
  if (control.port == 0) return fmt::format("{}-{}", host, letters);
  return fmt::format("{}-{}-{}", host, control.port, letters);
}

std::string draw_mark() {
  std::random_device chance;
  return fmt::format("hidden-{:08x}{:08x}", chance(), chance());
}

}  // namespace starling::daemon
