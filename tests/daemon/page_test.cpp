#include "daemon/rest/page.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "daemon/rest/api.h"
#include "daemon/rest/http_server.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;

namespace {

const std::filesystem::path kPage = STARLING_ROOT "/daemon/rest/page";

// The files that a person edits, by their path below the folder of the page.
std::map<std::string, std::string> files_on_disk() {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kPage)) {
    if (!entry.is_regular_file() || entry.path().filename() == "SHA256SUMS") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(kPage)] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

std::string field(const HttpResponse& response, std::string_view name) {
  const auto found =
      std::ranges::find(response.fields, name, [](const auto& pair) { return pair.first; });
  return found == response.fields.end() ? "" : found->second;
}

HttpResponse fetch(const std::string& target, const std::string& if_none_match = "") {
  auto response =
      page_response({.method = "GET", .target = target, .if_none_match = if_none_match});
  REQUIRE_MESSAGE(response.has_value(), target);
  return *std::move(response);
}

std::string type_of(const std::string& path) {
  static const std::map<std::string, std::string> kTypes = {{".html", "text/html"},
                                                            {".css", "text/css"},
                                                            {".js", "text/javascript"},
                                                            {".json", "application/json"},
                                                            {".svg", "image/svg+xml"},
                                                            {".txt", "text/plain"}};
  return kTypes.at(std::filesystem::path(path).extension()) + "; charset=utf-8";
}

std::size_t compressed_size(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  REQUIRE(compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                    reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6) == Z_OK);
  return size;
}

struct ServedPage {
  ServedPage() {
    auto started = HttpServer::start({.host = "127.0.0.1", .port = 0},
                                     make_api(board, default_settings(),
                                              {.token = "secret", .guard_reads = true}));
    REQUIRE(started.has_value());
    server = *std::move(started);
  }

  Board board;
  std::unique_ptr<HttpServer> server;
};

}  // namespace

TEST_CASE("Every file of the page is in the program and no other") {
  const auto files = files_on_disk();
  REQUIRE(files.size() > 10);
  CHECK(page_files().size() == files.size());
  for (const auto& [path, bytes] : files) {
    const HttpResponse response = fetch("/page/" + path);
    CHECK(response.status == 200);
    const bool is_same = response.body == bytes;
    CHECK_MESSAGE(is_same, path);
    CHECK(response.content_type == type_of(path));
    CHECK(field(response, "Content-Security-Policy").starts_with("default-src 'self'"));
    CHECK(field(response, "ETag").size() == 34);
    CHECK(field(response, "Cache-Control") == "no-cache");
  }
  CHECK(fetch("/").body == files.at("index.html"));
}

TEST_CASE("What is no file of the page is left to others") {
  for (const char* target : {"/page", "/page/", "/page/nothing.js", "/page/../page.h", "/v1/status",
                             "/page/SHA256SUMS", "/page//page.js", "", "//"})
    CHECK_FALSE(page_response({.method = "GET", .target = target}).has_value());
}

TEST_CASE("A file that the browser has is not sent again") {
  for (const PageFile& file : page_files()) {
    const std::string target = "/page/" + std::string(file.path);
    const std::string etag(file.etag);
    for (const std::string& known : {etag, "W/" + etag, "\"other\", " + etag, std::string("*")}) {
      const HttpResponse response = fetch(target, known);
      CHECK(response.status == 304);
      CHECK(response.body.empty());
      CHECK(field(response, "ETag") == etag);
    }
    CHECK(fetch(target, "\"other\"").status == 200);
  }
}

TEST_CASE("The page is only read") {
  const auto response = page_response({.method = "POST", .target = "/"});
  REQUIRE(response.has_value());
  CHECK(response->status == 405);
  CHECK(field(*response, "Allow") == "GET, HEAD");
}

TEST_CASE("The page is open where the node asks for its token") {
  ServedPage page;
  RawClient client(page.server->endpoint());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = client.read_until("</html>");
  CHECK(answer.starts_with("HTTP/1.1 200 "));
  CHECK(answer.find("Cache-Control: no-cache\r\n") != std::string::npos);
  client.send("GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(client.read_until("}}").find("HTTP/1.1 401 ") != std::string::npos);
}

TEST_CASE("A connection is kept after an answer without a body") {
  ServedPage page;
  RawClient client(page.server->endpoint());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: " +
              std::string(page_file("/")->etag) + "\r\n\r\n");
  const std::string head = client.read_until("\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 304 "));
  CHECK(head.find("Content-Length") == std::string::npos);
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(client.read_until("[]}").find("HTTP/1.1 200 ") != std::string::npos);
}

TEST_CASE("The page fetches nothing from another host") {
  for (auto [path, bytes] : files_on_disk()) {
    if (path.starts_with("third_party/")) continue;
    for (const std::string_view allowed :
         {R"(xmlns="http://www.w3.org/2000/svg")", "`http://${host}"})
      if (const auto at = bytes.find(allowed); at != std::string::npos)
        bytes.erase(at, allowed.size());
    for (const std::string foreign : {"http://", "https://", "=\"//", " url(", ":url("})
      CHECK_MESSAGE(bytes.find(foreign) == std::string::npos, path, " has ", foreign);
  }
}

TEST_CASE("The page has no script or style between its tags and makes no HTML of texts") {
  for (const auto& [path, bytes] : files_on_disk()) {
    if (path.starts_with("third_party/")) continue;
    for (const std::string unsafe :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "<style",
          "style=", "onclick=", "javascript:"})
      CHECK_MESSAGE(bytes.find(unsafe) == std::string::npos, path, " has ", unsafe);
  }
}

TEST_CASE("The page stays small") {
  std::size_t total = 0;
  for (const auto& [path, bytes] : files_on_disk()) total += compressed_size(bytes);
  MESSAGE("all files of the page: ", total, " bytes compressed");
  CHECK(total < 150'000);
}
