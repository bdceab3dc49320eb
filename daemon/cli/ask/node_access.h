// NodeAccess: the node that a command asks, the token, and the node's answer.
#pragma once

#include <nlohmann/json.hpp>
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

// Whatever the node answers; the error says that no node is there.
Outcome<HttpReply> ask(const NodeAccess& access, std::string_view method, std::string_view target,
                       std::string_view body = "");
// What is wrong with what the node sent. What came over the network can be printed.
Complaint complaint_of(const NodeAccess& access, const Error& error);
// Of an answer that is none of success: the message of {"error":{…}}, or the status alone.
Complaint refusal_of(const NodeAccess& access, const HttpReply& reply);
// What GET answers.
Outcome<nlohmann::json> document_of(const NodeAccess& access, std::string_view target);

// A member that is alive, or suspect, and its HTTP address; nothing if other machines cannot reach
// that.
struct LivingMember {
  std::string name;
  std::optional<Endpoint> http;
};

// Of the document of /v1/members, the node asked among them.
Result<std::vector<LivingMember>> living_members(const nlohmann::json& document);
// The node is asked for the document.
Outcome<std::vector<LivingMember>> members_of(const NodeAccess& access);
// Why these nodes cannot be asked from here.
Complaint without_http(const std::string& names);

}  // namespace starling::daemon
