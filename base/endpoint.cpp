#include "base/endpoint.h"

#include <algorithm>
#include <charconv>

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

}  // namespace

bool is_host(std::string_view host) {
  const bool bracketed = host.find(':') != std::string_view::npos;
  return !host.empty() && host.size() <= kHostBytesLimit && is_host_text(host, bracketed);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail("\"{}\" has no port; {}", text, kAllowed);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > kHostBytesLimit)
    return fail("\"{}\" has no usable host; {}", text, kAllowed);
  if (!is_host_text(host, bracketed)) return fail("\"{}\" is not an address; {}", text, kAllowed);
  Endpoint endpoint{std::string(host), 0};
  const char* end = port.data() + port.size();
  auto [stop, error] = std::from_chars(port.data(), end, endpoint.port);
  if (port.empty() || error != std::errc() || stop != end)
    return fail("\"{}\" has port \"{}\"; a port is a number from 0 to 65535", text, port);
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool bracketed = endpoint.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(bracketed ? "[{}]:{}" : "{}:{}"), endpoint.host, endpoint.port);
}

bool is_numeric(const Endpoint& endpoint) {
  const std::string& host = endpoint.host;
  return host.find(':') != std::string::npos ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

bool is_loopback(const Endpoint& endpoint) {
  // 127.example.org is a name that may be anywhere; 127.x.y.z is an address of this machine.
  const std::string& host = endpoint.host;
  return host == "localhost" || host == "::1" || (is_numeric(endpoint) && host.starts_with("127."));
}

}  // namespace starling
