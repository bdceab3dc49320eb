// Entity tags (RFC 9110, 8.8.3): a client that has a document does not get it again.
#pragma once

#include <string_view>

#include "daemon/rest/http_message.h"

namespace starling::daemon {

// Puts the tag on a response of status 200; one whose tag the request names in If-None-Match
// becomes a 304 without a body. `etag` has its quotation marks.
HttpResponse with_etag(const HttpRequest& request, HttpResponse response, std::string_view etag);
// The same with a tag made from the body. Responses of another status stay as they are.
HttpResponse with_etag(const HttpRequest& request, HttpResponse response);

}  // namespace starling::daemon
