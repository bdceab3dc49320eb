// HttpRequest, HttpResponse: shared by the HTTP server and its handlers.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::daemon {

struct HttpRequest {
  std::string method = {};  // "GET", "POST"; HEAD arrives as GET
  std::string target = {};  // the path: "/v1/status"
  std::string query = {};   // what follows the question mark: "since=12"
  std::string body = {};
  // Fields of the head, empty when absent.
  std::string host = {}, origin = {}, content_type = {}, authorization = {};
  std::string accept = {}, last_event_id = {}, if_none_match = {}, sec_fetch_site = {};
};

// The bytes to send now, empty for none yet. Called in the thread of the server, again and again
// until the client is gone.
using HttpSource = std::function<std::string()>;

struct HttpResponse;
// The response, once there is one. Called in the thread of the server, every few milliseconds until
// it gives the response or the client is gone; it answers at once.
using HttpLater = std::function<std::optional<HttpResponse>()>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> fields = {};  // further ones, or others: Allow
  // The body instead of `body`, if it is set: the same bytes serve many responses without a copy.
  std::shared_ptr<const std::string> shared_body = {};
  HttpLater later = {};    // gives the response instead, if it is set
  HttpSource stream = {};  // after the head comes what this gives, without an end; no body then

  std::string_view content() const { return shared_body ? *shared_body : body; }
};

using Handler = std::function<HttpResponse(const HttpRequest&)>;

// "Sun, 06 Nov 1994 08:49:37 GMT": the format of the Date field (RFC 9110, 5.6.7).
std::string http_date(std::time_t time);
// Nothing for a text in another format.
std::optional<std::time_t> parse_http_date(const std::string& text);

// {"error":{"code":…,"message":…}}
HttpResponse error_response(int status, std::string_view code, std::string_view message);
// 405, of a path that takes another method.
HttpResponse wrong_method(const HttpRequest& request, std::string_view allowed);

// Whether a browser asks on behalf of a foreign page. Other clients send neither field; for a page
// that hides its origin a browser sends only the second.
bool is_foreign(const HttpRequest& request);

}  // namespace starling::daemon
