#include "daemon/setup/advertised.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "daemon/process/host_names.h"

namespace starling::daemon {
namespace {

// Seeds tried: an unknown name takes seconds.
constexpr std::size_t kSeedsTried = 4;

// A socket on 0.0.0.0 takes no connection of IPv6; one on :: takes both.
std::vector<OwnAddress> candidates(const Endpoint& listen, std::span<const OwnAddress> own) {
  std::vector<OwnAddress> found;
  for (const OwnAddress& address : own) {
    const bool is_v6 = address.address.find(':') != std::string::npos;
    const bool is_served = !is_v6 || listen.host == "::";
    if (is_served && !is_loopback({address.address, 0})) found.push_back(address);
  }
  return found;
}

bool is_of_one_interface(std::span<const OwnAddress> addresses) {
  return std::ranges::all_of(addresses, [&](const OwnAddress& address) {
    return address.interface == addresses.front().interface;
  });
}

// Whether these addresses of one interface give one choice, the first, IPv4 if it has one: a second
// address of the same family is ambiguous.
bool is_clear(std::span<const OwnAddress> addresses) {
  const auto is_v4 = [](const OwnAddress& own) {
    return own.address.find(':') == std::string::npos;
  };
  const auto v4 = std::ranges::count_if(addresses, is_v4);
  return is_of_one_interface(addresses) && (v4 == 1 || addresses.size() == 1);
}

std::string addresses_in_words(std::span<const OwnAddress> addresses) {
  std::vector<std::string> texts;
  for (const OwnAddress& own : addresses)
    texts.push_back(fmt::format("{} ({})", own.address, own.interface));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Result<Reachable> reachable_host(const Endpoint& listen, std::span<const OwnAddress> own,
                                 std::span<const SeedName> seeds, const SourceOf& source_of) {
  const std::vector<OwnAddress> all = candidates(listen, own);
  if (all.empty())
    return fail(
        "listen.control = \"{}\": listens everywhere, and this machine has no address for it "
        "beyond loopback; expected the host by which others reach it in listen.advertise",
        to_string(listen));
  if (is_clear(all)) return Reachable{all.front().address, "that of " + all.front().interface};
  for (const SeedName& seed : seeds.first(std::min(seeds.size(), kSeedsTried))) {
    const auto source = source_of(seed);
    if (source && std::ranges::find(all, *source, &OwnAddress::address) != all.end())
      return Reachable{*source, "that which leads to " + to_string(seed)};
  }
  return fail(
      "listen.control = \"{}\": listens everywhere, and this machine has several addresses; "
      "expected one of them in listen.advertise, or another host by which others reach it: {}",
      to_string(listen), addresses_in_words(all));
}

std::string loopback_doubt(
    const Endpoint& advertised,
    const std::function<Result<std::vector<Endpoint>>(const Endpoint&)>& look_up) {
  if (advertised.host.empty() || is_numeric(advertised) || is_loopback(advertised)) return {};
  const auto found = look_up(advertised);
  if (!found) return {};
  const auto own = std::ranges::find_if(*found, is_loopback);
  if (own == found->end()) return {};
  return fmt::format(
      "listen.advertise = \"{}\": on this machine the name stands for {}, perhaps by /etc/hosts, "
      "and "
      "a machine that reads the same finds only itself there; expected a name that leads here from "
      "everywhere, or an address",
      advertised.host, own->host);
}

std::optional<std::string> source_towards(const SeedName& seed, const DnsOptions& options) {
  const auto found = seed.is_in_dns() ? look_up(seed, options) : resolve_all(seed.at);
  if (!found) return std::nullopt;
  for (const Endpoint& at : *found)
    if (!is_loopback(at))
      if (auto source = source_address(at)) return source;
  return std::nullopt;
}

}  // namespace starling::daemon
