// The fences in Asio's reference counts are unknown to ThreadSanitizer, of which GCC would warn.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#include "daemon/rest/http_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "daemon/rest/http_server.h"

namespace starling::daemon {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

using ReadRequest = http::request<http::string_body>;

HttpRequest request_of(ReadRequest&& wire) {
  const std::string target = std::string(wire.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  return {.method = wire.method() == http::verb::head ? "GET" : std::string(wire.method_string()),
          .target = target.substr(0, mark),
          .query = mark < target.size() ? target.substr(mark + 1) : "",
          .body = std::move(wire.body()),
          .host = std::string(wire[http::field::host]),
          .origin = std::string(wire[http::field::origin]),
          .content_type = std::string(wire[http::field::content_type]),
          .authorization = std::string(wire[http::field::authorization]),
          .accept = std::string(wire[http::field::accept]),
          .last_event_id = std::string(wire["Last-Event-ID"]),
          .if_none_match = std::string(wire[http::field::if_none_match]),
          .sec_fetch_site = std::string(wire["Sec-Fetch-Site"])};
}

}  // namespace

void limit(HttpParser& parser) {
  parser.header_limit(kHttpHeaderBytesLimit);
  parser.body_limit(kHttpBodyBytesLimit);
}

HttpReading take_request(HttpParser& parser) {
  ReadRequest wire = parser.release();
  HttpReading reading{.keep_alive = wire.keep_alive(), .head = wire.method() == http::verb::head};
  const std::size_t hosts = wire.count(http::field::host);
  const bool has_host = hosts == 1 && !wire[http::field::host].empty();
  if (has_host || (hosts == 0 && wire.version() < 11))
    reading.request = request_of(std::move(wire));
  else
    reading.refusal = error_response(400, "malformed", "HTTP/1.1 wants exactly one Host field");
  return reading;
}

std::optional<HttpResponse> complaint(error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return error_response(
        431, "header_too_large",
        fmt::format("the head of a request has at most {} bytes", kHttpHeaderBytesLimit));
  if (error == http::error::body_limit)
    return error_response(
        413, "body_too_large",
        fmt::format("the body of a request has at most {} bytes", kHttpBodyBytesLimit));
  if (error == http::error::end_of_stream || error == http::error::partial_message)
    return std::nullopt;
  if (error.category() != make_error_code(http::error::bad_method).category()) return std::nullopt;
  return error_response(400, "malformed", fmt::format("not HTTP: {}", error.message()));
}

std::optional<HttpReading> read_http_request(std::string_view bytes) {
  HttpParser parser;
  limit(parser);
  parser.eager(true);
  error_code error;
  while (!error && !bytes.empty() && !parser.is_done())
    bytes.remove_prefix(parser.put({bytes.data(), bytes.size()}, error));
  if (error == http::error::need_more) error = {};
  if (!error && parser.got_some() && !parser.is_done()) parser.put_eof(error);
  if (!error && parser.is_done()) return take_request(parser);
  if (!error) error = http::error::end_of_stream;
  auto refusal = complaint(error);
  if (!refusal) return std::nullopt;
  return HttpReading{.refusal = std::move(refusal)};
}

}  // namespace starling::daemon
