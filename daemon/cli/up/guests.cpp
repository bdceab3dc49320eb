#include "daemon/cli/up/guests.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/utf8.h"
#include "daemon/process/json_text.h"
#include "daemon/rest/document.h"
#include "daemon/rest/http_client.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// For one answer, and for those of all guests. Longer: guests that do not answer hold up the end.
constexpr milliseconds kAnswer{500}, kAnswers{2'000};

// Null: none came.
json get(const Endpoint& at, const std::string& target) {
  const auto reply = http_request(at, "GET", target, "", kAnswer);
  if (!reply || reply->status != 200) return nullptr;
  json document = parse_json(reply->body);
  return document.is_object() ? document : json(nullptr);
}

json members_of(Fleet& fleet) {
  for (Fleet::Node& node : fleet.nodes()) {
    if (!node.process.running() || node.is_silent) continue;
    if (const json document = get(node.http, "/v1/members"); document.is_object())
      return part(document, "members");
  }
  return json::array();
}

gossip::NodeSummary by_record(const json& member) {
  return {.name = {},
          .round = member.value("round", std::uint64_t{0}),
          .loss = number(member, "loss"),
          .sent_bytes = {}};
}

}  // namespace

std::vector<gossip::NodeSummary> guests(Fleet& fleet) {
  const auto is_own = [&](const std::string& name) {
    return std::ranges::find(fleet.nodes(), name, &Fleet::Node::name) != fleet.nodes().end();
  };
  const auto until = steady_clock::now() + kAnswers;
  std::vector<gossip::NodeSummary> found;
  for (const json& member : members_of(fleet)) {
    const std::string name = member.value("name", ""), state = member.value("state", "");
    if (is_own(name) || state == "dead") continue;
    const auto http = parse_endpoint(member.value("http", ""));
    const bool may_answer = http && state != "left" && steady_clock::now() < until;
    const json status = may_answer ? get(*http, "/v1/status") : json(nullptr);
    const bool is_it = status.is_object() && part(status, "node").value("name", "") == name;
    found.push_back(is_it ? summary_of(status) : by_record(member));
    found.back().name =
        fmt::format("{} (guest{})", printable(name), state == "left" ? ", left" : "");
  }
  return found;
}

}  // namespace starling::daemon
