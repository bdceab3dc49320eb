// PageFile, page_response: the web page of a node, whose files (daemon/rest/page/) are part of the
// program. The page reads the REST interface like any other client, and nothing else. To add a
// panel of a node's page: a module in daemon/rest/page/, its section in index.html, its updates in
// page.js.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "daemon/rest/http_message.h"

namespace starling::daemon {

// Views of what lives as long as the program.
struct PageFile {
  std::string_view path;          // below daemon/rest/page: "third_party/uPlot.min.css"
  std::string_view content_type;  // with the charset
  std::string_view etag;          // in quotes: a hash of the bytes
  std::string_view bytes;
};

// All of them, by path. Defined in the source that daemon/rest/embed_page.cmake writes.
std::span<const PageFile> page_files();

// The file that a path of a request names: "/" is index.html, "/page/page.js" page.js,
// "/openapi.json" the description of the REST interface.
std::optional<PageFile> page_file(std::string_view target);

// The answer if the request's path names a file: 200, 304 if the client has these bytes, 405 for
// other methods than GET and HEAD. A browser must ask for the file every time, and may fetch
// nothing from other hosts.
std::optional<HttpResponse> page_response(const HttpRequest& request);

}  // namespace starling::daemon
