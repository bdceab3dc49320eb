#include "daemon/rest/page.h"

#include <algorithm>

#include "daemon/rest/http_cache.h"

namespace starling::daemon {
namespace {

constexpr std::string_view kFolder = "/page/";
constexpr std::string_view kPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

std::optional<PageFile> page_file(std::string_view target) {
  std::string_view path = "index.html";
  if (target.starts_with(kFolder))
    path = target.substr(kFolder.size());
  else if (target == "/openapi.json")
    path = target.substr(1);
  else if (target != "/")
    return std::nullopt;
  const auto files = page_files();
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? std::nullopt : std::optional(*found);
}

std::optional<HttpResponse> page_response(const HttpRequest& request) {
  const auto file = page_file(request.target);
  if (!file) return std::nullopt;
  if (request.method != "GET") return wrong_method(request, "GET");
  HttpResponse response{
      .content_type = std::string(file->content_type),
      .body = std::string(file->bytes),
      .fields = {{"Cache-Control", "no-cache"}, {"Content-Security-Policy", std::string(kPolicy)}}};
  return with_etag(request, std::move(response), file->etag);
}

}  // namespace starling::daemon
