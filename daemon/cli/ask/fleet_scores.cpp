#include "daemon/cli/ask/fleet_scores.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "daemon/rest/document.h"
#include "daemon/rest/scores_json.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

std::string setting(const json& config, const char* key) {
  return part(config, key).value("value", "");
}

// Adds what one member says of these keys.
Outcome<void> ask_member(const NodeAccess& member, std::span<const std::string> keys,
                         const std::string& salt, FleetScores& fleet) {
  models::KeyedScores all;
  for (std::size_t first = 0; first < keys.size(); first += kScoredRowsLimit) {
    const auto some = keys.subspan(first, std::min(kScoredRowsLimit, keys.size() - first));
    TRY(const HttpReply reply,
        ask(member, "POST", "/v1/scores", scores_question(some, salt).dump()));
    if (reply.status != 200) return tl::unexpected(refusal_of(member, reply));
    auto answer = read_site_answer(json::parse(reply.body, nullptr, false), some);
    if (!answer) return tl::unexpected(complaint_of(member, answer.error()));
    if (answer->form) fleet.form = *std::move(answer->form), fleet.sites = answer->sites;
    models::KeyedScores& scores = answer->scores;
    std::ranges::move(all.keys, std::back_inserter(scores.keys));
    std::ranges::move(all.scores, std::back_inserter(scores.scores));
    all = std::move(scores);
  }
  fleet.of_sites.push_back(std::move(all));
  return {};
}

}  // namespace

Outcome<std::string> key_of_fleet(const NodeAccess& access) {
  TRY(const json config, document_of(access, "/v1/config"));
  if (setting(config, "data.split") != "columns")
    return complaint(kExitWrongUsage,
                     "{}: its nodes have data.split = {}, and each predicts by itself; expected "
                     "starling predict MODEL FILE",
                     to_string(access.node), setting(config, "data.split"));
  return setting(config, "data.key");
}

Outcome<FleetScores> ask_for_scores(const NodeAccess& access, std::span<const std::string> keys) {
  TRY(const json config, document_of(access, "/v1/config"));
  TRY(const std::vector<LivingMember> members, members_of(access));
  FleetScores fleet;
  std::string unreachable;
  for (const LivingMember& member : members) {
    if (!member.http) {
      unreachable += (unreachable.empty() ? "" : ", ") + member.name;
      continue;
    }
    const auto asked =
        ask_member({*member.http, access.token}, keys, setting(config, "data.seed"), fleet);
    if (!asked) fleet.notes.push_back(fmt::format("{}: {}", member.name, asked.error().text));
  }
  if (!unreachable.empty()) return tl::unexpected(without_http(unreachable));
  if (fleet.sites.empty())
    return complaint(kExitFailed,
                     "{}: no living member has the target, and without it nobody knows what the "
                     "scores mean",
                     to_string(access.node));
  return fleet;
}

}  // namespace starling::daemon
