// The REST interface of a node: which resource answers what. Questions are answered with
// what the board has or is given at once, commands are left on it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "daemon/process/board.h"
#include "daemon/rest/http_message.h"
#include "daemon/rest/spectrum_cache.h"
#include "models/nets/model_options.h"

namespace starling::daemon {

// The document of /v1/config: effective values and their origin.
using ConfigProvider = std::function<std::string()>;

struct ApiOptions {
  // Without it everybody who reaches the address may change things.
  std::optional<std::string> token = {};
  // Asks for the token on reading too, as beyond loopback; /healthz, /readyz and the page, which
  // holds nothing of the node, stay open.
  bool guard_reads = false;
  // Of the numbers of /v1/model.
  models::Precision precision = models::Precision::f32;
  SpectrumCache::Rounds rounds = {};  // of the run
};

// The handler is for one thread at a time. `board` must outlive it. Errors are
// {"error":{"code":…,"message":…}}: 404 for what does not exist, or not yet; 405 with Allow; 400
// for an argument or body that is not understood, 415 for one that is not application/json; 401
// without the token; 403 for a change that a page of another site asks for; 503 before the node has
// started or when it has commands enough.
Handler make_api(Board& board, ConfigProvider config, ApiOptions options = {});

}  // namespace starling::daemon
