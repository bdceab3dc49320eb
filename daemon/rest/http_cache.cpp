#include "daemon/rest/http_cache.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "base/text.h"

namespace starling::daemon {
namespace {

// Whether a field If-None-Match names the tag. A proxy may have made it a weak one: W/"…".
bool names_tag(std::string_view if_none_match, std::string_view etag) {
  for (const std::string& part : split(if_none_match, ',')) {
    std::string_view tag = trim(part);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == "*" || tag == etag) return true;
  }
  return false;
}

}  // namespace

HttpResponse with_etag(const HttpRequest& request, HttpResponse response, std::string_view etag) {
  if (names_tag(request.if_none_match, etag)) response.status = 304, response.body.clear();
  response.fields.emplace_back("ETag", etag);
  return response;
}

HttpResponse with_etag(const HttpRequest& request, HttpResponse response) {
  if (response.status != 200) return response;
  const std::string etag = fmt::format("\"{:016x}\"", stable_hash(response.body));
  response.fields.emplace_back("Cache-Control", "no-cache");
  return with_etag(request, std::move(response), etag);
}

}  // namespace starling::daemon
