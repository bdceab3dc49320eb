// The fences in Asio's reference counts are unknown to ThreadSanitizer, of which GCC would warn.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#include "daemon/rest/http_server.h"

#include <utility>
// Boost.Asio uses std::exchange without including <utility>, which must therefore come first.
#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>
#include <thread>

#include "base/check.h"
#include "daemon/process/own_addresses.h"
#include "daemon/process/quiet_thread.h"
#include "daemon/rest/host_list.h"
#include "daemon/rest/http_reading.h"

namespace starling::daemon {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLingerDeadline = 1s;
// A client that goes on sending after its answer is read at most this fast, so that 300 MB from it
// do not take the thread's time. Faster lets more clients end their request before they are closed
// and read why; slower leaves more time to the others.
constexpr std::size_t kDiscardBytes = 256 * 1024;
constexpr auto kDiscardPause = 10ms;
constexpr auto kAcceptPause = 100ms;
// For a response that comes later: a snapshot is there within a fraction of a millisecond, a model
// after seconds. Looks start at the first and double to the last; a larger first one is time that
// a client waits, a smaller last one is processor time.
constexpr auto kFirstLook = 100us, kLastLook = 2'000us;
constexpr auto kStreamLook = 100ms;  // for something new to send
constexpr int kStreamLooks = 50;     // without anything new until a comment shows who is gone
constexpr std::string_view kStreamComment = ":\n\n";

using WireBody = http::span_body<const char>;  // a view of what the session holds
using WireResponse = http::response<WireBody>;

struct Framing {
  bool keep_alive = false;
  bool head = false;  // the body is measured and left out
};

// A view of `response`, which must outlive it.
WireResponse to_wire(const HttpResponse& response, Framing framing) {
  WireResponse wire;
  wire.result(static_cast<unsigned>(response.status));
  wire.set(http::field::content_type, response.content_type);
  wire.set(http::field::cache_control, "no-store");
  // Clients compare their clocks with it.
  wire.set(http::field::date, http_date(std::time(nullptr)));
  wire.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.fields) wire.set(name, value);
  wire.keep_alive(framing.keep_alive);
  // The length of a 304 would be that of the body which the client has.
  if (!response.stream && response.status != 304) wire.content_length(response.content().size());
  if (!framing.head) wire.body() = {response.content().data(), response.content().size()};
  return wire;
}

Outcome<void> listen(tcp::acceptor& acceptor, const Endpoint& bind) {
  error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(bind.host, error), bind.port);
  const auto attempt = [&error](auto&& step) {
    if (!error) step();
  };
  attempt([&] { acceptor.open(endpoint.protocol(), error); });
  // [::] takes connections of IPv4 too, whatever the system's default is.
  if (endpoint.address().is_v6() && endpoint.address().is_unspecified())
    attempt([&] { acceptor.set_option(asio::ip::v6_only(false), error); });
  // A restart does not wait for the connections of the process before it to fade away.
  attempt([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), error); });
  attempt([&] { acceptor.bind(endpoint, error); });
  attempt([&] { acceptor.listen(asio::socket_base::max_listen_connections, error); });
  if (!error) return {};
  return starling::complaint(error == asio::error::address_in_use ? kExitFailed : kExitWrongUsage,
                             "{}", error.message());
}

}  // namespace

// Everything but start(), counters() and the destructor runs in thread_.
class HttpServer::Impl {
 public:
  Impl(Handler handler, HttpOptions options, HostList hosts)
      : handler_(std::move(handler)), options_(std::move(options)), hosts_(std::move(hosts)) {
    ENSURE(options_.connections_limit > 0, "a server that lets nobody in is no server");
  }
  ~Impl() { io_.stop(); }

  Outcome<void> start(const Endpoint& bind) {
    TRY_DO(listen(acceptor_, bind));
    endpoint_ = {.host = bind.host, .port = acceptor_.local_endpoint().port()};
    accept();
    thread_ = quiet_thread([this] { io_.run(); });
    return {};
  }

  const Endpoint& endpoint() const { return endpoint_; }
  HttpCounters counters() const {
    return {.requests = requests_,
            .malformed = malformed_,
            .timed_out = timed_out_,
            .evicted = evicted_,
            .refused_hosts = refused_hosts_};
  }

 private:
  class Session;
  using Sessions = std::list<std::shared_ptr<Session>>;

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) {
        admit(std::move(socket));
        return accept();
      }
      // Out of descriptors, most likely: trying again at once would only burn time.
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](error_code) { accept(); });
    });
  }

  void admit(tcp::socket socket);
  bool has_room(std::size_t bytes);
  // Closes the first of which that is true; false where it is true of none.
  bool evict(const std::function<bool(const Session&)>& is_so);
  HttpResponse handle(const HttpRequest& request) {
    // Only HTTP/1.0 comes without a Host, and no browser speaks that.
    if (request.host.empty() || hosts_.allows(request.host)) return handler_(request);
    ++refused_hosts_;
    return error_response(
        403, "host_not_allowed",
        fmt::format("Host \"{}\" is no name of this node; expected localhost, {} or a name of "
                    "http.allowed-hosts",
                    request.host, to_string(endpoint_)));
  }

  template <class Answer>
  static HttpResponse answer(Answer answer);

  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  Handler handler_;
  HttpOptions options_;
  HostList hosts_;
  Endpoint endpoint_;
  Sessions sessions_;  // those whose client was waited for, or took bytes, longest ago first
  // What nobody looks at, of all sessions.
  std::vector<char> discarded_ = std::vector<char>(kDiscardBytes);
  std::size_t unsent_bytes_ = 0;
  std::size_t streams_ = 0;
  std::atomic<std::uint64_t> requests_ = 0, malformed_ = 0, timed_out_ = 0, evicted_ = 0,
                             refused_hosts_ = 0;
  std::jthread thread_;  // last: it uses everything above
};

template <class Answer>
HttpResponse HttpServer::Impl::answer(Answer answer) {
  try {
    return answer();
  } catch (const std::exception& error) {
    return error_response(500, "internal", error.what());
  }
}

// One connection: read a request, answer it, again. It lives as long as an operation of it is under
// way; what completes after close() finds the session closed and does nothing.
class HttpServer::Impl::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Impl& server, tcp::socket socket)
      : server_(server), stream_(std::move(socket)), look_(stream_.get_executor()) {}

  void start(Sessions::iterator place) {
    place_ = place;
    read();
  }
  // For bytes from it, or for it to read.
  bool waits_for_client() const { return waits_for_client_; }
  bool is_stalled() const {
    return unsent_bytes_ > 0 && Clock::now() - waits_since_ > server_.options_.patience;
  }

  // Leaves the list of the server.
  void close() {
    if (std::exchange(closed_, true)) return;
    stream_.close();
    look_.cancel();
    later_ = {};
    if (source_) --server_.streams_;
    server_.unsent_bytes_ -= std::exchange(unsent_bytes_, 0);
    server_.sessions_.erase(place_);
  }

 private:
  void wait_for_client() {
    server_.sessions_.splice(server_.sessions_.end(), server_.sessions_, place_);
    waits_for_client_ = true;
    waits_since_ = Clock::now();
  }

  template <class Act>
  void after(std::chrono::microseconds pause, Act act) {
    look_.expires_after(pause);
    look_.async_wait([self = shared_from_this(), act](error_code) {
      if (!self->closed_) std::invoke(act, *self);
    });
  }

  void read() {
    later_look_ = kFirstLook;
    wait_for_client();
    parser_.emplace();
    limit(*parser_);
    stream_.expires_after(server_.options_.read_deadline);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!self->closed_) self->on_read(error);
                     });
  }

  void on_read(error_code error) {
    waits_for_client_ = false;
    if (error) return refuse(error);
    ++server_.requests_;
    HttpReading reading = take_request(*parser_);
    if (!reading.refusal)
      return respond(server_.answer([&] { return server_.handle(reading.request); }),
                     {.keep_alive = reading.keep_alive, .head = reading.head});
    ++server_.malformed_;
    write(*std::move(reading.refusal), {});
  }

  void refuse(error_code error) {
    if (error == beast::error::timeout) ++server_.timed_out_;
    auto response = complaint(error);
    if (!response) return close();
    ++server_.malformed_;
    write(*std::move(response), {});
  }

  void respond(HttpResponse&& response, Framing framing) {
    if (response.later) return respond_later(std::move(response.later), framing);
    if (!response.stream || framing.head) return write(std::move(response), framing);
    if (server_.streams_ < kHttpStreamsLimit) return follow(std::move(response));
    const auto message = fmt::format("{} streams are open already; try again", kHttpStreamsLimit);
    write(error_response(503, "busy", message), framing);
  }

  void respond_later(HttpLater later, Framing framing) {
    later_ = std::move(later);
    stream_.expires_never();
    after(later_look_, [framing](Session& self) { self.look_for_response(framing); });
    later_look_ = std::min(2 * later_look_, kLastLook);
  }

  void look_for_response(Framing framing) {
    const HttpLater later = std::exchange(later_, {});
    HttpResponse response = server_.answer([&] {
      auto found = later();
      return found ? *std::move(found) : HttpResponse{.later = later};
    });
    respond(std::move(response), framing);
  }

  void write(HttpResponse&& response, Framing framing) {
    const std::size_t bytes = response.content().size();
    if (bytes > kHttpBodyBytesLimit && !server_.has_room(bytes))
      response = error_response(503, "busy", "too many large answers are under way; try again");
    unsent_bytes_ = response.content().size();
    server_.unsent_bytes_ += unsent_bytes_;
    prepare(std::move(response), framing);
    stream_.expires_after(server_.options_.write_deadline);
    write_some(framing);
  }

  // In parts, so that a client that takes none is told from one that is slow.
  void write_some(Framing framing) {
    wait_for_client();
    const auto done = [self = shared_from_this(), framing](error_code error, std::size_t) {
      if (self->closed_) return;
      if (error) return self->close();
      const bool is_whole =
          framing.head ? self->serializer_->is_header_done() : self->serializer_->is_done();
      if (!is_whole) return self->write_some(framing);
      self->settle();
      framing.keep_alive ? self->read() : self->linger();
    };
    // With the head alone the body's length stays what it was measured to be.
    serializer_->split(framing.head);
    http::async_write_some(stream_, *serializer_, done);
  }

  void prepare(HttpResponse&& response, Framing framing) {
    said_ = std::move(response);
    response_ = to_wire(said_, framing);
    serializer_.emplace(response_);
  }

  // The response is sent.
  void settle() {
    server_.unsent_bytes_ -= std::exchange(unsent_bytes_, 0);
    serializer_.reset();
    response_ = {};
    said_ = {};
  }

  auto sent() {
    return [self = shared_from_this()](error_code error, std::size_t) {
      if (self->closed_) return;
      self->waits_for_client_ = false;
      error ? self->close() : self->send_more();
    };
  }

  // The end of the connection is that of the stream.
  void follow(HttpResponse&& response) {
    ++server_.streams_;
    source_ = response.stream;
    prepare(std::move(response), {});
    wait_for_client();
    stream_.expires_after(server_.options_.write_deadline);
    http::async_write_header(stream_, *serializer_, sent());
  }

  void send_more() {
    more_ = source_();
    if (more_.empty() && ++looks_ < kStreamLooks) return after(kStreamLook, &Session::send_more);
    if (more_.empty()) more_ = kStreamComment;
    looks_ = 0;
    wait_for_client();
    stream_.expires_after(server_.options_.write_deadline);
    asio::async_write(stream_, asio::buffer(more_), sent());
  }

  // Closing with unread bytes would reset the connection, and the client might lose the answer that
  // says why. So its bytes are thrown away until it has read that and closes too.
  void linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    wait_for_client();
    stream_.expires_after(kLingerDeadline);
    discard();
  }

  void discard() {
    stream_.async_read_some(asio::buffer(server_.discarded_),
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (self->closed_) return;
                              error ? self->close() : self->after(kDiscardPause, &Session::discard);
                            });
  }

  Impl& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kHttpHeaderBytesLimit + kHttpBodyBytesLimit};
  std::optional<HttpParser> parser_;
  HttpResponse said_;  // under way, or nothing
  WireResponse response_;
  std::optional<http::response_serializer<WireBody>> serializer_;
  asio::steady_timer look_;
  HttpLater later_;  // of a response that is waited for
  std::chrono::microseconds later_look_ = kFirstLook;
  HttpSource source_;  // of a stream
  std::string more_;
  int looks_ = 0;
  Sessions::iterator place_;
  std::size_t unsent_bytes_ = 0;  // of response_
  bool waits_for_client_ = true;
  Clock::time_point waits_since_{};
  bool closed_ = false;
};

void HttpServer::Impl::admit(tcp::socket socket) {
  if (sessions_.size() >= options_.connections_limit && !evict(&Session::waits_for_client))
    evict([](const Session&) { return true; });
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  sessions_.push_back(std::make_shared<Session>(*this, std::move(socket)));
  sessions_.back()->start(std::prev(sessions_.end()));
}

bool HttpServer::Impl::evict(const std::function<bool(const Session&)>& is_so) {
  const auto found =
      std::ranges::find_if(sessions_, [&](const auto& session) { return is_so(*session); });
  if (found == sessions_.end()) return false;
  ++evicted_;
  std::shared_ptr(*found)->close();
  return true;
}

// Clients that take nothing make room for what another one asks for.
bool HttpServer::Impl::has_room(std::size_t bytes) {
  while (unsent_bytes_ > 0 && unsent_bytes_ + bytes > kHttpUnsentBytesLimit)
    if (!evict(&Session::is_stalled)) return false;
  return true;
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Outcome<std::unique_ptr<HttpServer>> HttpServer::start(const Endpoint& bind, Handler handler,
                                                       HttpOptions options) {
  HostList hosts(bind, options.hosts);
  auto impl = std::make_unique<Impl>(std::move(handler), std::move(options), std::move(hosts));
  if (auto started = impl->start(bind); !started)
    return starling::complaint(
        started.error().code,
        "listen.http = \"{}\": {}; expected an address of this machine ({}) with a free port, or "
        "port 0 for any",
        to_string(bind), started.error().text, fmt::join(own_address_texts(), ", "));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

const Endpoint& HttpServer::endpoint() const {
  return impl_->endpoint();
}

HttpCounters HttpServer::counters() const {
  return impl_->counters();
}

}  // namespace starling::daemon
