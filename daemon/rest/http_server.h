// HttpServer: answers HTTP/1.1 in a thread of its own. Whatever arrives costs bounded memory and
// time: it is answered, counted or closed, and never stops the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/endpoint.h"
#include "daemon/rest/http_message.h"

namespace starling::daemon {

inline constexpr std::size_t kHttpHeaderBytesLimit = 8 * 1024;  // above: 431
inline constexpr std::size_t kHttpBodyBytesLimit = 64 * 1024;   // above: 413
// Of all responses under way together. Above it, a response larger than kHttpBodyBytesLimit evicts
// those whose clients read nothing, or becomes a 503, so that such clients cannot fill the memory.
// A response above this limit is sent alone.
inline constexpr std::size_t kHttpUnsentBytesLimit = 64 * 1024 * 1024;

inline constexpr std::size_t kHttpStreamsLimit = 32;  // without an end; above: 503

struct HttpOptions {
  // From the start of the wait for a request until its last byte. Single bytes do not renew it, and
  // the idle time of a kept connection counts too: a slow client is closed.
  std::chrono::milliseconds read_deadline{5'000};
  std::chrono::milliseconds write_deadline{30'000};  // for a whole response
  // For a client that reads nothing of a response, while another one waits for room. Longer: such
  // clients block others for longer. Shorter: slow ones are closed.
  std::chrono::milliseconds patience{2'000};
  // A further connection evicts the one that has waited longest for its client: for the rest of a
  // request, or to read an answer.
  std::size_t connections_limit = 256;
  // Names a client may use in Host besides those that HostList knows; any other gets 403.
  std::vector<std::string> hosts = {};
};

struct HttpCounters {
  std::uint64_t requests = 0;       // complete ones, including refused ones
  std::uint64_t malformed = 0;      // not HTTP, or too large
  std::uint64_t timed_out = 0;      // connections
  std::uint64_t evicted = 0;        // connections closed for newer ones
  std::uint64_t refused_hosts = 0;  // requests
};

class HttpServer {
 public:
  // `handler` is called in the thread of the server, one request after another; it answers at once,
  // if need be with HttpResponse::later. Port 0: any free one; the host is an address. The error
  // names listen.http and the address; a port in use is kExitFailed, for it may be free later.
  static Outcome<std::unique_ptr<HttpServer>> start(const Endpoint& bind, Handler handler,
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
