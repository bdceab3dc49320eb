#include "base/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace starling {
namespace {

constexpr std::string_view kAllowed = "expected HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600";

bool is_host_character(char c, bool bracketed) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const bool digit = c >= '0' && c <= '9';
  return letter || digit || c == '.' || c == '-' || c == '_' ||
         (bracketed && (c == ':' || c == '%'));
}

bool is_host_text(std::string_view host, bool bracketed) {
  return std::ranges::all_of(host, [&](char c) { return is_host_character(c, bracketed); });
}

bool looks_like_v6(std::string_view host) {
  return host.find(':') != std::string_view::npos;
}

bool looks_like_v4(std::string_view host) {
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_v4(const std::string& host) {
  in_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// The canonical spelling of an IPv6 address; a zone after '%' stays as it is.
std::optional<std::string> spelled_v6(std::string_view host) {
  const std::size_t zone = std::min(host.find('%'), host.size());
  const bool has_odd_zone =
      zone + 1 == host.size() || host.find_first_of(":%", zone + 1) != std::string_view::npos;
  if (has_odd_zone) return std::nullopt;
  in6_addr address;
  if (::inet_pton(AF_INET6, std::string(host.substr(0, zone)).c_str(), &address) != 1)
    return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  return text.data() + std::string(host.substr(zone));
}

// The text between the brackets; nothing if there are none.
std::optional<std::string_view> in_brackets(std::string_view host) {
  if (host.size() < 3 || host.front() != '[' || host.back() != ']') return std::nullopt;
  return host.substr(1, host.size() - 2);
}

// The host in its canonical spelling. `is_v6`: it must be an IPv6 address.
Result<std::string> checked(std::string_view host, bool is_v6) {
  if (is_v6) {
    if (auto spelled = spelled_v6(host)) return *std::move(spelled);
    return fail("is no address of IPv6");
  }
  if (looks_like_v4(host) && !is_v4(std::string(host)))
    return fail("is no address of IPv4: expected four numbers from 0 to 255");
  return std::string(host);
}

}  // namespace

bool is_host(std::string_view host) {
  if (host.empty() || host.size() > kHostBytesLimit) return false;
  const bool is_v6 = looks_like_v6(host);
  return is_host_text(host, is_v6) && checked(host, is_v6).has_value();
}

Result<std::string> parse_host(std::string_view text) {
  const auto inner = in_brackets(text);
  const std::string_view host = inner.value_or(text);
  if (!is_host(host) || (inner && !looks_like_v6(host)))
    return fail("\"{}\" is no host; expected a name, or an address without a port", text);
  return *checked(host, looks_like_v6(host));
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail("\"{}\" has no port; {}", text, kAllowed);
  const std::string_view before = text.substr(0, colon), port = text.substr(colon + 1);
  const auto inner = in_brackets(before);
  const std::string_view host = inner.value_or(before);
  if (host.empty() || host.size() > kHostBytesLimit)
    return fail("\"{}\" has no usable host; {}", text, kAllowed);
  if (!is_host_text(host, inner.has_value()))
    return fail("\"{}\" is not an address; {}", text, kAllowed);
  const auto kept = checked(host, inner.has_value());
  if (!kept) return fail("\"{}\": \"{}\" {}", text, host, kept.error().text);
  const auto number = parse_exactly<std::uint16_t>(port);
  if (!number)
    return fail("\"{}\" has port \"{}\"; a port is a number from 0 to 65535", text, port);
  return Endpoint{*kept, *number};
}

std::string to_string(const Endpoint& endpoint) {
  const bool bracketed = looks_like_v6(endpoint.host);
  return fmt::format(fmt::runtime(bracketed ? "[{}]:{}" : "{}:{}"), endpoint.host, endpoint.port);
}

bool is_numeric(const Endpoint& endpoint) {
  return looks_like_v6(endpoint.host) || looks_like_v4(endpoint.host);
}

bool is_loopback(const Endpoint& endpoint) {
  // 127.example.org is a name that may be anywhere; 127.x.y.z is an address of this machine.
  const std::string& host = endpoint.host;
  return host == "localhost" || host == "::1" || (is_numeric(endpoint) && host.starts_with("127."));
}

bool is_wildcard(const Endpoint& endpoint) {
  return endpoint.host == "0.0.0.0" || endpoint.host == "::";
}

}  // namespace starling
