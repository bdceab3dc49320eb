#include "base/utf8.h"
#include "daemon/cli/ask/commands.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/text.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/output.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAskEvery{100};
constexpr std::int64_t kWaitLimit_s = 600;

// The result of the command, for people and for programs.
struct Ending {
  std::string text;
  json document = json::object();
};

struct SaveOrder {
  NodeAccess access;
  bool fleet = false, waits = false;
  std::chrono::seconds timeout{kWaitLimit_s};
};

// What the node, or the fleet, says of its checkpoints; null before one began.
Outcome<json> saving(const SaveOrder& order) {
  TRY(const json document, document_of(order.access, order.fleet ? "/v1/fleet" : "/v1/status"));
  return part(document, "checkpoint");
}

std::uint64_t count_in(const json& object, const char* name) {
  const json& count = part(object, name);
  return count.is_number_unsigned() ? count.get<std::uint64_t>() : 0;
}

// Nothing as long as it is under way.
Outcome<std::optional<Ending>> ending_of_node(const json& before, const json& now) {
  if (count_in(now, "generation") > count_in(before, "generation"))
    return Ending{fmt::format("round {} is saved: generation {}, {} bytes, after {:.3g} s",
                              count_in(now, "round"), count_in(now, "generation"),
                              count_in(now, "bytes"), now.value("took_s", 0.0)),
                  now};
  const bool writes = now.value("writing", false);
  if (now.contains("problem") && !writes && now != before)
    return complaint(kExitFailed, "{}", now["problem"].get<std::string>());
  return std::nullopt;
}

Outcome<std::optional<Ending>> ending_of_fleet(const json& before, const json& now) {
  const bool is_new = now.is_object() && count_in(now, "round") > count_in(before, "round");
  if (!is_new || !now["missing"].empty()) return std::nullopt;
  return Ending{fmt::format("every node has saved round {}", count_in(now, "round")), now};
}

std::string missing_text(const json& now) {
  std::string names;
  for (const json& name : part(now, "missing"))
    names += (names.empty() ? "" : ", ") + name.get<std::string>();
  return names.empty() ? "nothing was saved" : "not saved by " + names;
}

Outcome<Ending> wait(const SaveOrder& order, const json& before) {
  const auto end = steady_clock::now() + order.timeout;
  json now;
  while (steady_clock::now() < end) {
    std::this_thread::sleep_for(kAskEvery);
    TRY(now, saving(order));
    TRY(auto ending, order.fleet ? ending_of_fleet(before, now) : ending_of_node(before, now));
    if (ending) return *std::move(ending);
  }
  return complaint(kExitFailed, "{} after {} s", missing_text(now), order.timeout.count());
}

Outcome<Ending> save(const SaveOrder& order) {
  TRY(const json before, saving(order));
  TRY(const HttpReply reply,
      ask(order.access, "POST", "/v1/checkpoint", order.fleet ? R"({"fleet":true})" : ""));
  if (reply.status >= 300) return tl::unexpected(refusal_of(order.access, reply));
  if (order.waits) return wait(order, before);
  const std::string whom =
      order.fleet ? "all nodes to save after one round" : "to save after the round under way";
  return Ending{fmt::format("node at {} is told {}; --wait waits for it",
                            to_string(order.access.node), whom)};
}

Result<SaveOrder> read_save_order(const CommandLine& line) {
  SaveOrder order;
  order.fleet = line.has("fleet");
  order.waits = line.has("wait");
  if (const auto text = line.value("timeout")) {
    const auto seconds = parse_integer(*text);
    if (!seconds || *seconds < 1 || *seconds > 86'400)
      return fail("--timeout {}: expected seconds from 1 to 86400", *text);
    order.timeout = std::chrono::seconds(*seconds);
  }
  TRY(order.access, read_node_access(line));
  return order;
}

Outcome<int> run_checkpoint(const CommandLine& line) {
  TRY(const SaveOrder order, read_save_order(line));
  auto ending = save(order);
  if (line.has("json")) {
    fmt::print("{}\n",
               ending ? ending->document.dump() : json{{"error", ending.error().text}}.dump());
    return ending ? kExitDone : ending.error().code;
  }
  if (!ending) return complaint(ending.error().code, "{}", printable(ending.error().text));
  fmt::print("{}\n", printable(ending->text));
  return kExitDone;
}

constexpr auto kCheckpointOptions =
    join(kAsking,
         {{"fleet", "",
           "every node saves after one round, on which the nodes agree; a fleet that is started "
           "again from that goes on as if it had never stopped"},
          {"wait", "", "until the checkpoint, or that of every node, is on the disk"},
          {"timeout", "S", "how long to wait at most; default 600"}},
         kPrintingJson);

}  // namespace

constinit const ProgramCommand kCheckpoint = {
    .name = "checkpoint",
    .summary = "tell a node, or all of them, to save",
    .usage = "starling checkpoint [--fleet] [--wait] [--api URL] [--json]",
    .description = R"(Tells a running node to save its state in the folder that its node.data-dir
names, after the round under way. A node also saves by itself, as checkpoint.every says, in a pause
and at its end; started again with that folder it goes on from the newest checkpoint.)",
    .options = kCheckpointOptions,
    .notes = R"(Example: save all nodes before the machines are switched off

  starling checkpoint --fleet --wait)",
    .exits = "0 saved, or told to without --wait; 1 not saved, 2 wrong usage, 4 no node answers.",
    .run = run_checkpoint};

}  // namespace starling::daemon
