#include "daemon/cli/ask/node_access.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/setup/token_file.h"

namespace starling::daemon {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:7680";

// Empty where it is no text.
std::string text_in(const nlohmann::json& object, const char* name) {
  const auto text = object.is_object() ? object.value(name, nlohmann::json()) : nlohmann::json();
  return text.is_string() ? text.get<std::string>() : std::string();
}

}  // namespace

Result<NodeAccess> read_node_access(const CommandLine& line) {
  NodeAccess access;
  TRY(access.node, parse_url(line.value("api").value_or(kDefaultUrl)));
  if (const auto path = line.value("token-file")) {
    TRY(access.token, read_token_file(*path));
  }
  return access;
}

Result<std::vector<LivingMember>> living_members(const nlohmann::json& document) {
  if (!document.is_object() || !document.contains("members"))
    return fail("the answer has no list \"members\"; expected a node of starling there");
  std::vector<LivingMember> members;
  for (const auto& member : document["members"]) {
    const std::string state = text_in(member, "state");
    const auto http = parse_endpoint(text_in(member, "http"));
    if (state != "alive" && state != "suspect") continue;
    members.push_back({text_in(member, "name"), std::nullopt});
    if (http && http->port != 0) members.back().http = *http;
  }
  return members;
}

std::string without_http(const std::string& names) {
  return fmt::format(
      "{}: no address for HTTP from other machines; give each a listen.http beyond loopback and an "
      "http.token-file (docs/several-machines.md)",
      names);
}

std::string refusal_of(const HttpReply& reply) {
  const auto document = nlohmann::json::parse(reply.body, nullptr, false);
  const nlohmann::json::json_pointer path("/error/message");
  if (document.is_object() && document.contains(path) && document[path].is_string())
    return document[path].get<std::string>();
  return fmt::format("HTTP status {}", reply.status);
}

}  // namespace starling::daemon
