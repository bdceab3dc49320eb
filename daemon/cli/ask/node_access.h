// NodeAccess: which node a command asks, and with which token.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/endpoint.h"
#include "base/result.h"
#include "daemon/rest/http_client.h"

namespace starling::daemon {

struct NodeAccess {
  Endpoint node;
  std::string token;  // empty: none
};

// Of --api and --token-file; without --api the default of `listen.http`.
Result<NodeAccess> read_node_access(const CommandLine& line);

// A member that is alive, or suspect, and where it answers; nothing where it tells no address that
// other machines could ask.
struct LivingMember {
  std::string name;
  std::optional<Endpoint> http;
};

// Of the document of /v1/members, the node asked among them.
Result<std::vector<LivingMember>> living_members(const nlohmann::json& document);
// Why nobody here can ask these nodes.
std::string without_http(const std::string& names);

// Why the node refused: the message of {"error":{…}}, or the status alone.
std::string refusal_of(const HttpReply& reply);

}  // namespace starling::daemon
