#include "base/seed_name.h"

#include <algorithm>

namespace starling {
namespace {

constexpr std::string_view kDnsPrefix = "dns:";
constexpr char kKeyMark = '#';
constexpr std::string_view kSeedForms = "expected dns:NAME:PORT or dns:_SERVICE._tcp.NAME";
// Of RFC 1035, for a name without the last dot.
constexpr std::size_t kDnsNameBytesLimit = 253, kDnsLabelBytesLimit = 63;

// Labels of letters, digits, - and _, separated by dots; a dot may follow the last.
bool is_dns_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.size() > kDnsNameBytesLimit || !is_host(name) || is_numeric({std::string(name), 0}))
    return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (end == begin || end - begin > kDnsLabelBytesLimit) return false;
    begin = end + 1;
  }
  return true;
}

bool is_service_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  constexpr std::string_view kProtocol = "._tcp.";
  return dot != std::string_view::npos && dot > 1 && name.substr(dot).starts_with(kProtocol) &&
         is_dns_name(name) && is_dns_name(name.substr(dot + kProtocol.size()));
}

Result<SeedName> parse_service(std::string_view text, std::string_view name) {
  if (name.find(':') != std::string_view::npos)
    return fail("\"{}\" has a port; that of a service is in its records: {}", text, kSeedForms);
  if (!is_service_name(name)) return fail("\"{}\" is no name of a service; {}", text, kSeedForms);
  return SeedName(std::string(name), 0, SeedName::Kind::service);
}

Result<SeedName> parse_hosts(std::string_view text, std::string_view name) {
  if (name.find(kKeyMark) != std::string_view::npos)
    return fail("\"{}\" has a key, and names any number of members; expected HOST:PORT#KEY", text);
  if (name.find(':') == std::string_view::npos)
    return fail("\"{}\" has no port; {}", text, kSeedForms);
  TRY(Endpoint at, parse_endpoint(name));
  if (is_numeric(at))
    return fail("\"{}\" holds an address; expected a name behind dns:, or {} alone", text,
                to_string(at));
  if (!is_dns_name(at.host)) return fail("\"{}\" is no name in the DNS; {}", text, kSeedForms);
  if (at.port == 0) return fail("\"{}\" has port 0; expected the port of the members", text);
  return SeedName(at.host, at.port, SeedName::Kind::hosts);
}

Result<SeedName> parse_address(std::string_view text) {
  const std::size_t hash = std::min(text.find(kKeyMark), text.size());
  TRY(Endpoint at, parse_endpoint(text.substr(0, hash)));
  if (at.port == 0) return fail("\"{}\" has port 0; expected the port of a member", text);
  SeedName name(std::move(at));
  if (hash < text.size()) {
    TRY(name.key, parse_public_key(text.substr(hash + 1)));
  }
  return name;
}

}  // namespace

Result<SeedName> parse_seed_name(std::string_view text) {
  if (text.starts_with(kDnsPrefix)) {
    const std::string_view name = text.substr(kDnsPrefix.size());
    if (name.starts_with('_')) return parse_service(text, name);
    // dns:7600 is a host of that name.
    if (name.find_first_not_of("0123456789") != std::string_view::npos)
      return parse_hosts(text, name);
  }
  return parse_address(text);
}

std::string to_string(const SeedName& name) {
  if (name.kind == SeedName::Kind::service) return std::string(kDnsPrefix) + name.at.host;
  if (name.is_in_dns()) return std::string(kDnsPrefix) + to_string(name.at);
  return to_string(name.at) + (name.key ? kKeyMark + to_string(*name.key) : "");
}

}  // namespace starling
