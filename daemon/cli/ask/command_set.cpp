#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/cli/ask/commands.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/status_json.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

// {"eval.every": "5"} of "eval.every=5".
Result<json> changes_of(const CommandLine& line) {
  json changes = json::object();
  for (const std::string& argument : line.positional) {
    const std::size_t sign = argument.find('=');
    if (sign == std::string::npos || sign == 0)
      return fail("{}: expected KEY=VALUE, such as eval.every=5", argument);
    changes[argument.substr(0, sign)] = argument.substr(sign + 1);
  }
  return changes;
}

Outcome<void> show(const NodeAccess& access, bool as_json) {
  TRY(const json settings, document_of(access, "/v1/settings"));
  if (as_json) {
    fmt::print("{}\n", to_text(settings));
    return {};
  }
  Table table({"key", "value", "from", "since round"});
  for (const auto& [key, setting] : settings.items())
    table.add({key, setting.value("value", ""), setting.value("origin", ""),
               fmt::to_string(setting.value("since_round", std::uint64_t{0}))});
  fmt::print("{}", table.text());
  return {};
}

Outcome<void> change(const NodeAccess& access, const json& changes, bool as_json) {
  TRY(const HttpReply reply, ask(access, "POST", "/v1/settings", changes.dump()));
  if (reply.status >= 300) return tl::unexpected(refusal_of(access, reply));
  if (as_json)
    fmt::print("{}\n", reply.body);
  else
    for (const auto& [key, value] : changes.items())
      fmt::print("node at {} has {} = {}\n", to_string(access.node), key, value.get<std::string>());
  return {};
}

Outcome<int> run_set(const CommandLine& line) {
  TRY(const NodeAccess access, read_node_access(line));
  TRY(const json changes, changes_of(line));
  const bool as_json = line.has("json");
  if (changes.empty()) {
    TRY_DO(show(access, as_json));
  } else {
    TRY_DO(change(access, changes, as_json));
  }
  return kExitDone;
}

constexpr auto kSetOptions =
    join(kAsking, {{"json", "", "print the node's answer, and nothing else"}});
constexpr std::string_view kSetArguments[] = {"KEY=VALUE..."};

}  // namespace

constinit const ProgramCommand kSet = {
    .name = "set",
    .summary = "change settings of a running node",
    .usage = "starling set [KEY=VALUE ...] [--api URL] [--json]",
    .description = R"(Sets keys of a running node, from now on until the process ends: its next
start reads the configuration again. Either all values are taken, or none. Without KEY=VALUE it
lists the keys that can be set, and their values.)",
    .options = kSetOptions,
    .notes = R"(Example: judge the model after every round, and save it every ten minutes

  starling set eval.every=1 checkpoint.every=10m)",
    .exits = kAskingExits,
    .arguments = kSetArguments,
    .run = run_set};

}  // namespace starling::daemon
