// HttpReading: what arrives on a connection, as a request for a handler, or as the response that
// refuses it.
#pragma once

#include <utility>
// Boost.Asio uses std::exchange without including <utility>, which must therefore come first.
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <string_view>

#include "daemon/rest/http_message.h"

namespace starling::daemon {

using HttpParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

struct HttpReading {
  HttpRequest request = {};
  bool keep_alive = false;
  bool head = false;  // the body of the response is measured and left out
  std::optional<HttpResponse> refusal = {};
};

// Sets the limits of http_server.h. REQUIRES that nothing was parsed yet.
void limit(HttpParser& parser);
// The whole request. REQUIRES that the parser is done.
HttpReading take_request(HttpParser& parser);
// What to tell a client whose request could not be read; nothing when there is nobody to tell.
std::optional<HttpResponse> complaint(boost::beast::error_code error);

// The first request in some bytes, after which the client says nothing more; nothing if they end
// before the request does, and there is nobody to tell.
std::optional<HttpReading> read_http_request(std::string_view bytes);

}  // namespace starling::daemon
