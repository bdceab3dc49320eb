// SeedName: where a node looks for members, as a user writes it:
//   HOST:PORT                  the address of one member
//   HOST:PORT#KEY              the same, of the member that has this public key
//   dns:NAME:PORT              all addresses that the name servers know of NAME
//   dns:_SERVICE._tcp.NAME     the hosts and ports of a service, which SRV records list
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/endpoint.h"
#include "base/keys.h"
#include "base/result.h"

namespace starling {

struct SeedName {
  enum class Kind { address, hosts, service };

  // Implicit, because most seeds are one address.
  SeedName(Endpoint one) : at(std::move(one)) {}
  SeedName(std::string host, std::uint16_t port, Kind what = Kind::address)
      : at{std::move(host), port}, kind(what) {}

  Endpoint at;  // the name of a service has port 0: its records hold the ports
  Kind kind = Kind::address;
  // Of an address, if the user gave it: the member there has this one.
  std::optional<PublicKey> key = {};

  // Whether it stands for any number of addresses.
  bool is_in_dns() const { return kind != Kind::address; }
  // Whether both stand for the same place, whatever the key there.
  bool operator==(const SeedName& other) const { return at == other.at && kind == other.kind; }
};

// The port is above 0.
Result<SeedName> parse_seed_name(std::string_view text);
std::string to_string(const SeedName& name);

}  // namespace starling
