// HttpServer: answers HTTP/1.1 in a thread of its own. Whatever arrives costs bounded memory and
// time: it is answered, counted or closed, and never stops the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "daemon/rest/http_message.h"

namespace starling::daemon {

inline constexpr std::size_t kHttpHeaderBytesLimit = 8 * 1024;  // above: 431
inline constexpr std::size_t kHttpBodyBytesLimit = 64 * 1024;   // above: 413
// Of all responses under way together; above, a response larger than kHttpBodyBytesLimit takes the
// place of those whose clients read nothing, or becomes a 503, so that clients who ask for much and
// read nothing cannot fill the memory. Larger ones go out one at a time.
inline constexpr std::size_t kHttpUnsentBytesLimit = 64 * 1024 * 1024;

inline constexpr std::size_t kHttpStreamsLimit = 32;  // without an end; above: 503

struct HttpOptions {
  // From the moment a request is waited for until its last byte. Not renewed by single bytes, and
  // the idle time of a kept connection counts too: a slow client is closed, whatever it does.
  std::chrono::milliseconds read_deadline{5'000};
  std::chrono::milliseconds write_deadline{30'000};  // for a whole response
  // With a client that takes nothing of a response, while another one waits for room. Longer:
  // clients who ask for much and read nothing shut others out. Shorter: slow ones are closed.
  std::chrono::milliseconds patience{2'000};
  // One more takes the place of the one whose client was waited for longest: for the rest of its
  // request, or to take some of its answer.
  std::size_t connections_limit = 256;
  // Names a client may use in Host besides those that HostList knows; any other gets 403.
  std::vector<std::string> hosts = {};
};

struct HttpCounters {
  std::uint64_t requests = 0;       // whole ones, also those that were refused
  std::uint64_t malformed = 0;      // not HTTP, or too large
  std::uint64_t timed_out = 0;      // connections
  std::uint64_t evicted = 0;        // connections that made place for newer ones
  std::uint64_t refused_hosts = 0;  // requests
};

class HttpServer {
 public:
  // `handler` is called in the thread of the server, one request after another; it answers at once,
  // if need be with HttpResponse::later.
  // Port 0 takes any free one; the host is an address. The error names listen.http and the address.
  static Result<std::unique_ptr<HttpServer>> start(const Endpoint& bind, Handler handler,
                                                   HttpOptions options = {});
  // Closes all connections and joins the thread.
  ~HttpServer();

  // With the port that was really taken.
  const Endpoint& endpoint() const;
  // Any thread.
  HttpCounters counters() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace starling::daemon
