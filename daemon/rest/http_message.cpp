#include "daemon/rest/http_message.h"

#include <fmt/format.h>
#include <time.h>

#include <nlohmann/json.hpp>

#include "daemon/rest/status_json.h"

namespace starling::daemon {

namespace {

constexpr char kDateFormat[] = "%a, %d %b %Y %H:%M:%S GMT";

}  // namespace

std::string http_date(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof(text), kDateFormat, &parts)};
}

std::optional<std::time_t> parse_http_date(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), kDateFormat, &parts);
  if (!end || *end != '\0') return std::nullopt;
  return ::timegm(&parts);
}

HttpResponse error_response(int status, std::string_view code, std::string_view message) {
  const nlohmann::json document = {{"error", {{"code", code}, {"message", message}}}};
  return {.status = status, .body = to_text(document)};
}

HttpResponse wrong_method(const HttpRequest& request, std::string_view allowed) {
  const auto message = fmt::format("{} allows {}, not {}", request.target, allowed, request.method);
  HttpResponse response = error_response(405, "method_not_allowed", message);
  response.fields.emplace_back("Allow", allowed == "GET" ? "GET, HEAD" : allowed);
  return response;
}

bool is_foreign(const HttpRequest& request) {
  const std::string& site = request.sec_fetch_site;
  if (!site.empty() && site != "same-origin" && site != "none") return true;
  return !request.origin.empty() && !request.origin.ends_with("://" + request.host);
}

}  // namespace starling::daemon
