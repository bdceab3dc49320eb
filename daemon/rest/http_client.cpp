// The fences in Asio's reference counts are unknown to ThreadSanitizer, of which GCC would warn.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#include "daemon/rest/http_client.h"

#include <utility>
// Boost.Asio uses std::exchange without including <utility>, which must therefore come first.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "daemon/process/version.h"

namespace starling::daemon {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;

http::request<http::string_body> make_request(const Endpoint& endpoint, std::string_view method,
                                              std::string_view target, std::string_view body,
                                              std::string_view token) {
  http::request<http::string_body> request;
  request.method_string({method.data(), method.size()});
  request.target({target.data(), target.size()});
  request.set(http::field::host, to_string(endpoint));
  request.set(http::field::user_agent, fmt::format("starling/{}", kVersion));
  if (!token.empty()) request.set(http::field::authorization, fmt::format("Bearer {}", token));
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = body;
  request.keep_alive(false);
  request.prepare_payload();
  return request;
}

// Resolve, connect, write, read: each step starts the next, and the first error ends all.
class Exchange {
 public:
  Exchange(const Endpoint& endpoint, http::request<http::string_body> request)
      : endpoint_(endpoint), request_(std::move(request)) {
    parser_.body_limit(kHttpReplyBytesLimit);
  }

  Result<HttpReply> run(std::chrono::milliseconds timeout) {
    resolver_.async_resolve(endpoint_.host, std::to_string(endpoint_.port),
                            [this](error_code error, const auto& found) {
                              if (advances(error)) connect(found);
                            });
    io_.run_for(timeout);
    if (!outcome_)
      return fail("http://{} does not answer within {} ms", to_string(endpoint_), timeout.count());
    if (*outcome_) return fail("http://{}: {}", to_string(endpoint_), outcome_->message());
    auto reply = parser_.release();
    const auto type = reply[http::field::content_type];
    const auto date = reply[http::field::date];
    return HttpReply{.status = static_cast<int>(reply.result_int()),
                     .content_type = {type.data(), type.size()},
                     .body = std::move(reply.body()),
                     .date = {date.data(), date.size()}};
  }

 private:
  bool advances(error_code error) {
    if (error) outcome_ = error;
    return !error;
  }

  void connect(const tcp::resolver::results_type& found) {
    stream_.async_connect(found, [this](error_code error, const tcp::endpoint&) {
      if (advances(error)) write();
    });
  }

  void write() {
    http::async_write(stream_, request_, [this](error_code error, std::size_t) {
      if (advances(error)) read();
    });
  }

  void read() {
    http::async_read(stream_, buffer_, parser_,
                     [this](error_code error, std::size_t) { outcome_ = error; });
  }

  Endpoint endpoint_;
  http::request<http::string_body> request_;
  asio::io_context io_{1};
  tcp::resolver resolver_{io_};
  beast::tcp_stream stream_{io_};
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
  std::optional<error_code> outcome_;
};

}  // namespace

Result<HttpReply> http_request(const Endpoint& endpoint, std::string_view method,
                               std::string_view target, std::string_view body,
                               std::chrono::milliseconds timeout, std::string_view token) {
  return Exchange(endpoint, make_request(endpoint, method, target, body, token)).run(timeout);
}

Result<Endpoint> parse_url(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  std::string_view address = url;
  if (address.starts_with(kScheme)) address.remove_prefix(kScheme.size());
  if (address.ends_with('/')) address.remove_suffix(1);
  auto endpoint = parse_endpoint(address);
  if (!endpoint || endpoint->port == 0)
    return fail("\"{}\" is no address of a node; expected http://HOST:PORT", url);
  return endpoint;
}

}  // namespace starling::daemon
