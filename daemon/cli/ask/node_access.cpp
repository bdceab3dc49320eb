#include "daemon/cli/ask/node_access.h"

#include <fmt/format.h>

#include <chrono>

#include "base/utf8.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/process/json_text.h"
#include "daemon/rest/document.h"
#include "daemon/setup/token_file.h"

namespace starling::daemon {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:7680";
constexpr std::chrono::seconds kPatience{5};

// Empty where it is no text.
std::string text_in(const nlohmann::json& object, const char* name) {
  const nlohmann::json& text = part(object, name);
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

Outcome<std::vector<LivingMember>> members_of(const NodeAccess& access) {
  TRY(const nlohmann::json document, document_of(access, "/v1/members"));
  auto members = living_members(document);
  if (!members) return tl::unexpected(complaint_of(access, members.error()));
  return *std::move(members);
}

Complaint without_http(const std::string& names) {
  return {kExitUnreachable,
          fmt::format("{}: no address for HTTP from other machines; give each a listen.http beyond "
                      "loopback and an http.token-file (docs/running.md)",
                      printable(names))};
}

Outcome<HttpReply> ask(const NodeAccess& access, std::string_view method, std::string_view target,
                       std::string_view body) {
  auto reply = http_request(access.node, method, target, body, kPatience, access.token);
  if (reply) return *std::move(reply);
  return complaint(kExitUnreachable,
                   "{}; expected a running node there: start one with starling run, or name "
                   "another with --api URL",
                   reply.error().text);
}

Complaint complaint_of(const NodeAccess& access, const Error& error) {
  return {kExitFailed, fmt::format("http://{}: {}", to_string(access.node), printable(error.text))};
}

Complaint refusal_of(const NodeAccess& access, const HttpReply& reply) {
  const auto document = parse_json(reply.body);
  const std::string reason = text_in(part(document, "error"), "message");
  return {kExitFailed, fmt::format("http://{} refuses: {}", to_string(access.node),
                                   reason.empty() ? fmt::format("HTTP status {}", reply.status)
                                                  : printable(reason))};
}

Outcome<nlohmann::json> document_of(const NodeAccess& access, std::string_view target) {
  TRY(const HttpReply reply, ask(access, "GET", target));
  if (reply.status >= 300) return tl::unexpected(refusal_of(access, reply));
  nlohmann::json document = parse_json(reply.body);
  if (!document.is_discarded()) return document;
  return complaint(kExitFailed, "http://{}{}: the answer is not JSON; expected a node of starling",
                   to_string(access.node), target);
}

}  // namespace starling::daemon
