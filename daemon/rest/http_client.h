// http_request: asks a node one question and waits for the answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "base/result.h"

namespace starling::daemon {

inline constexpr std::size_t kHttpReplyBytesLimit = 64 * 1024 * 1024;

struct HttpReply {
  int status = 0;
  std::string content_type;
  std::string body;
  std::string date;  // the field of that name; empty: there is none
};

// `body` is JSON, or empty for none; `token` goes into the Authorization field, if any. The timeout
// is for everything together. The error says what failed and names the address.
Result<HttpReply> http_request(const Endpoint& endpoint, std::string_view method,
                               std::string_view target, std::string_view body,
                               std::chrono::milliseconds timeout, std::string_view token = {});

// "http://HOST:PORT", with or without a slash at the end; the scheme may be missing.
Result<Endpoint> parse_url(std::string_view url);

}  // namespace starling::daemon
