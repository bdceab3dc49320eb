// The REST interface of a node: its resources. They read the board and leave commands on it. To add
// a REST document: a row and a function in daemon/rest/api.cpp, its path in
// daemon/rest/page/openapi.json. To add a REST command: the same, its input in gossip/io.h,
// gossip/node/inputs.cpp, daemon/process/board.h, a command in daemon/cli/ask/.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/process/board.h"
#include "daemon/rest/http_message.h"
#include "daemon/rest/spectrum_cache.h"
#include "daemon/setup/live_settings.h"
#include "models/nets/model_options.h"

namespace starling::daemon {

struct ApiOptions {
  // Without it every client that reaches the address may change things.
  std::optional<std::string> token = {};
  // Requires the token for reading too, as beyond loopback; /healthz, /readyz and the page, which
  // has no data of the node, stay open.
  bool guard_reads = false;
  // Of the numbers of /v1/model.
  models::Precision precision = models::Precision::f32;
  SpectrumCache::Rounds rounds = {};  // of the run
};

// The handler is for one thread at a time. `board` must outlive it. `settings`: of this node.
// Errors are {"error":{"code":…,"message":…}}: 404 for a resource that does not exist, or not yet;
// 405 with Allow; 400 for an invalid argument or body, 415 for a body that is not application/json;
// 401 without the token; 403 for a change requested by a page of another site; 503 before the node
// has started or when too many commands wait.
Handler make_api(Board& board, std::shared_ptr<const LiveSettings> settings,
                 ApiOptions options = {});

}  // namespace starling::daemon
