// NodeAccess: which node a command asks, and with which token.
#pragma once

#include <nlohmann/json_fwd.hpp>
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

// A member that is alive, or suspect, and where it answers.
struct LivingMember {
  std::string name;
  Endpoint http;
};

// Of the document of /v1/members, the node asked among them; those without an address are left out.
Result<std::vector<LivingMember>> living_members(const nlohmann::json& document);

// Why the node refused: the message of {"error":{…}}, or the status alone.
std::string refusal_of(const HttpReply& reply);

}  // namespace starling::daemon
