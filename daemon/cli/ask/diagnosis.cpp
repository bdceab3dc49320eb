#include "daemon/cli/ask/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/utf8.h"
#include "daemon/cli/ask/remedies.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using Findings = std::vector<Finding>;

constexpr std::string_view kDiskFull = "No space left on device";

// ---- reading what a node of another version may give otherwise

std::string words_of(const json& object, const char* key) {
  const json& value = part(object, key);
  return value.is_string() ? printable(value.get_ref<const std::string&>()) : "";
}

double number_of(const json& object, const char* key) {
  const json& value = part(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

std::vector<std::string> list_of(const json& object, const char* key) {
  std::vector<std::string> list;
  const json& value = part(object, key);
  if (!value.is_array()) return list;
  for (const json& item : value)
    if (item.is_string()) list.push_back(printable(item.get_ref<const std::string&>()));
  return list;
}

bool is_starling(const Answer& health) {
  return health.status == 200 && part(health.document, "reasons").is_array();
}

std::string error_of(const Answer& answer) {
  const std::string text = words_of(part(answer.document, "error"), "message");
  return text.empty() ? fmt::format("HTTP status {}", answer.status) : text;
}

// ---- ports

struct PortWords {
  std::string_view seen, advice;
};
// In the order of PortState.
constexpr PortWords kPortWords[] = {
    {"answers as a node does", ""},
    {"accepts connections and says nothing",
     "the process may be stopped (kill -CONT), or the port belongs to another program"},
    {"speaks something else than a node", "another program has this port; correct the address"},
    {"refuses connections: nobody listens there", "start the node there, or correct the port"},
    {"does not answer within 2 s",
     "see that the host is on, and that its firewall lets this port through"},
    {"cannot be reached from this machine", "see the network and the routes of this machine"},
    {"has a host name that is not known", "correct the name, or give the address"},
    {"has a host name, and the name server does not answer",
     "see the name server of this machine, or give the address"}};

std::string_view in_words(PortState state) {
  return kPortWords[static_cast<std::size_t>(state)].seen;
}
std::string port_advice(PortState state) {
  return std::string(kPortWords[static_cast<std::size_t>(state)].advice);
}

// ---- can the node be asked?

std::string api_advice(PortState port) {
  if (port == PortState::refused)
    return "start a node with starling run, or name its listen.http with --api URL";
  return port_advice(port);
}

// The last finding where the node cannot be asked.
Finding look_at_api(const SeenNode& seen) {
  const std::string url = "http://" + to_string(seen.at);
  if (seen.port == PortState::greets)
    return {Severity::fail, "api", fmt::format("{} is a port for other nodes", to_string(seen.at)),
            fmt::format("name the listen.http of the node with --api URL; starling doctor {} looks "
                        "at this port",
                        to_string(seen.at))};
  if (seen.port != PortState::silent)
    return {Severity::fail, "api", fmt::format("{} {}", url, in_words(seen.port)),
            api_advice(seen.port)};
  if (seen.health.status == 0)
    return {
        Severity::fail, "api",
        "the port is open, and gives no answer: " + printable(seen.health.problem),
        "is this the listen.http of a node, and not its port for other nodes? A process that is "
        "stopped answers nothing either"};
  if (seen.health.status == 403)
    return {Severity::fail, "api", fmt::format("{}: {}", url, error_of(seen.health)),
            "ask by address, or name the host in http.allowed-hosts of the node"};
  if (!is_starling(seen.health))
    return {Severity::fail, "api", fmt::format("{} is not the REST interface of a node", url),
            "another program listens there; name the listen.http of the node with --api URL"};
  return {Severity::ok, "api", fmt::format("{} answers", url), ""};
}

std::optional<Finding> look_at_token(const SeenNode& seen) {
  if (seen.status.status != 401) return std::nullopt;
  if (seen.has_token)
    return Finding{Severity::fail, "token", "the token is not that of the node",
                   "give the file that http.token-file of the node names, with --token-file"};
  return Finding{Severity::fail, "token", "the node wants a token",
                 "add --token-file FILE, the file that http.token-file of the node names"};
}

// ---- what the node says of itself

// Peers that it refuses are among its warnings.
void look_at_keys(const SeenNode& seen, Findings& findings) {
  const json& certificate = part(part(seen.status.document, "security"), "certificate");
  if (certificate.empty()) return;
  const std::string until = words_of(certificate, "until");
  findings.push_back({Severity::ok, "keys", "encrypted; certificate valid until " + until, ""});
}

Finding doubt(const std::string& text) {
  return {Severity::warn, "cause", text, hint_of(text)};
}

std::string state_advice(const SeenNode& seen, const std::string& state) {
  const bool ends = state == "ending" || state == "settling" || state == "sealing";
  if (state == "training" || state == "finished" || ends) return "";
  const std::string trainer = words_of(part(seen.status.document, "trainer"), "state");
  if (trainer == "lost" || trainer == "waiting") return "it waits for its trainer";
  return state == "paused" ? "starling resume lets it train on"
                           : "the reasons follow, if there are any; ask again in a while";
}
void look_at_state(const SeenNode& seen, Findings& findings) {
  const json& node = part(seen.status.document, "node");
  const std::string state = words_of(node, "state");
  const std::string text =
      fmt::format("{} is {}, up {}, starling {}", words_of(node, "name"), state,
                  human_duration(number_of(node, "uptime_s")), words_of(node, "version"));
  const std::string advice = state_advice(seen, state);
  findings.push_back({advice.empty() ? Severity::ok : Severity::warn, "state", text, advice});
  const auto reasons = list_of(node, "reasons"), warnings = list_of(node, "warnings");
  const std::string problem = words_of(part(seen.status.document, "run"), "problem");
  for (const std::string& warning : warnings) {
    // look_at_run() and look_at_folder() report these.
    if (warning == problem || (seen.folder && warning.find(kDiskFull) != std::string::npos))
      continue;
    const auto remedied = remedy_of(warning);
    findings.push_back(remedied ? Finding{Severity::fail, "cause", warning, *remedied}
                                : doubt(warning));
  }
  for (const std::string& reason : reasons)
    if (reason != problem && std::ranges::find(warnings, reason) == warnings.end())
      findings.push_back(doubt(reason));
}

void look_at_run(const SeenNode& seen, Findings& findings) {
  const json& run = part(seen.status.document, "run");
  if (const std::string problem = words_of(run, "problem"); !problem.empty())
    findings.push_back({Severity::fail, "training", problem,
                        remedy_of(problem).value_or(
                            "see data and optim.learning-rate; a smaller rate often helps")});
  if (const std::string shortfall = words_of(run, "shortfall"); !shortfall.empty())
    findings.push_back({Severity::warn, "training", shortfall, "see what ended the run: stop.*"});
  if (const std::string unmatched = words_of(run, "unmatched"); !unmatched.empty())
    findings.push_back({Severity::warn, "rows", unmatched,
                        "where more rows should match: write data.key alike at every site, and "
                        "look with starling data FILE"});
}

void look_at_trainer(const SeenNode& seen, Findings& findings) {
  const json& trainer = part(seen.status.document, "trainer");
  const std::string state = words_of(trainer, "state"), reason = words_of(trainer, "reason");
  if (state != "stalled" && state != "lost") return;
  for (const std::string& warning : list_of(part(seen.status.document, "node"), "warnings"))
    if (warning.find(reason) != std::string::npos) return;  // look_at_state() reports it
  const std::string text = fmt::format("{}: {}", state, reason);
  findings.push_back(
      {Severity::fail, "trainer", text, remedy_of(reason).value_or(*remedy_of("trainer"))});
}

// The activity that took most of the time between the looks.
std::string where_time_went(const json& before, const json& after, double between_s) {
  const auto share = [&](const char* key) {
    return (number_of(part(after, "time"), key) - number_of(part(before, "time"), key)) / between_s;
  };
  if (share("wait_s") > 0.5) return "it waits for neighbours";
  return share("compute_s") > 0.5 ? "it computes" : "it may be within a long step or wait";
}

void look_at_rounds(const SeenNode& seen, Findings& findings) {
  const json& before = seen.status.document;
  const json& after = seen.later.document;
  if (!after.is_object() || words_of(part(after, "node"), "state") == "finished") return;
  const std::string state = words_of(part(before, "node"), "state");
  if (state != "training" && state != "degraded") return;
  const double round = number_of(part(after, "run"), "round");
  const double rounds = round - number_of(part(before, "run"), "round");
  const double steps =
      number_of(part(after, "run"), "steps") - number_of(part(before, "run"), "steps");
  if (rounds > 0 || steps > 0)
    findings.push_back(
        {Severity::ok, "rounds",
         fmt::format("{:.0f} rounds in {:.1f} s, now round {:.0f}", rounds, seen.between_s, round),
         ""});
  else
    findings.push_back(
        {Severity::warn, "rounds",
         fmt::format("no round and no local step in {:.1f} s, still round {:.0f}; {}",
                     seen.between_s, round, where_time_went(before, after, seen.between_s)),
         "a round of a large model may take longer; else see starling neighbors for "
         "who is behind"});
}

// ---- others

std::string counted(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

void look_at_members(const SeenNode& seen, Findings& findings) {
  const json& members = part(seen.members.document, "members");
  if (!members.is_array()) return;
  std::size_t alive = 0;
  for (const json& member : members) {
    const std::string state = words_of(member, "state");
    if (state == "alive") ++alive;
    if (state != "suspect" && state != "dead") continue;
    findings.push_back(
        {Severity::warn, "members",
         fmt::format("{} at {} is {}: no news of it for {}", words_of(member, "name"),
                     part(member, "hidden") == true ? "no address" : words_of(member, "control"),
                     state, human_duration(number_of(member, "last_heard_s"))),
         "start it again, unless its ports below accept connections: then its process is stopped"});
  }
  findings.push_back({Severity::ok, "members", counted(alive, "member") + " alive", ""});
}

void look_at_links(const SeenNode& seen, Findings& findings) {
  const json& neighbors = part(seen.neighbors.document, "neighbors");
  if (!neighbors.is_array()) return;
  std::size_t active = 0;
  for (const json& edge : neighbors) {
    const std::string state = words_of(edge, "state"), peer = words_of(edge, "name");
    if (state == "active") ++active;
    if (state.starts_with("refused"))
      findings.push_back({Severity::fail, "links", fmt::format("{}: {}", peer, state),
                          "give both the same configuration and columns"});
    else if (state != "active")
      findings.push_back(
          {Severity::warn, "links",
           fmt::format("{} is {}, {:.0f} rounds behind", peer, state, number_of(edge, "staleness")),
           "look at that node, and at the network to it"});
  }
  findings.push_back({Severity::ok, "links", counted(active, "active neighbour"), ""});
}

void look_at_ports(const SeenNode& seen, Findings& findings) {
  std::size_t open = 0;
  for (const SeenPort& port : seen.ports) {
    if (port.state == PortState::greets) {
      ++open;
      continue;
    }
    // From another machine than the node's a port may be closed that is open to the node.
    const bool is_sure = seen.is_local || port.state == PortState::refused;
    findings.push_back({is_sure ? Severity::fail : Severity::warn, "ports",
                        fmt::format("the port of {}, {}, {}", printable(port.node),
                                    to_string(port.at), in_words(port.state)),
                        port_advice(port.state) +
                            (is_sure ? "" : "; starling doctor on the node's machine sees more")});
  }
  if (open > 0)
    findings.push_back(
        {Severity::ok, "ports",
         fmt::format("{} of other nodes can be reached from here", counted(open, "port")), ""});
}

void look_at_rejected(const SeenNode& seen, Findings& findings) {
  const json& rejected = part(seen.status.document, "rejected");
  if (!rejected.is_object()) return;
  bool has_odd = false;
  for (const auto& [reason, count] : rejected.items()) {
    const std::string meaning =
        words_of(part(part(seen.status.document, "rejected_messages"), reason.c_str()), "meaning");
    if (!count.is_number() || count.get<double>() <= 0 || meaning.starts_with("normal")) continue;
    has_odd = true;
    findings.push_back({Severity::warn, "refused",
                        fmt::format("{:.0f} messages as \"{}\": {}", count.get<double>(),
                                    printable(reason), meaning),
                        "the log of the node names who sent them; nothing, if the number stays"});
  }
  if (!has_odd) findings.push_back({Severity::ok, "refused", "no message out of the ordinary", ""});
}

// ---- the machine

void look_at_clock(const SeenNode& seen, Findings& findings) {
  if (!seen.clock_ahead_s) return;
  const double apart = std::abs(*seen.clock_ahead_s);
  if (apart <= kClockApart_s)
    findings.push_back({Severity::ok, "clock", "as that of this machine", ""});
  else
    findings.push_back({Severity::warn, "clock",
                        fmt::format("{} {} this machine's", human_duration(apart),
                                    *seen.clock_ahead_s > 0 ? "ahead of" : "behind"),
                        "set both by NTP; training does not need it, times in logs and the number "
                        "of a node's life do"});
}

void look_at_folder(const SeenNode& seen, Findings& findings) {
  if (!seen.folder) return;
  const Folder& folder = *seen.folder;
  const std::string problem = words_of(part(seen.status.document, "checkpoint"), "problem");
  if (problem.find(kDiskFull) != std::string::npos) {
    findings.push_back({Severity::fail, "disk",
                        fmt::format("node.data-dir {}: {}", printable(folder.path), problem),
                        "make room: the node trains on and saves nothing"});
    return;
  }
  if (!folder.path.starts_with('/')) {
    findings.push_back({Severity::ok, "disk",
                        fmt::format("node.data-dir {} is relative to where the node was started, "
                                    "and was not looked at",
                                    printable(folder.path)),
                        ""});
    return;
  }
  const std::string path = fmt::format("node.data-dir {}", printable(folder.path));
  if (!folder.space) {
    findings.push_back({Severity::warn, "disk", fmt::format("{}: {}", path, folder.problem),
                        "look at the folder on the machine of the node"});
    return;
  }
  const double free = folder.space->free_bytes;
  const std::string text = fmt::format("{} has {} free", path, human_bytes(free));
  if (free >= kFolderLow_bytes) {
    findings.push_back({Severity::ok, "disk", text, ""});
    return;
  }
  findings.push_back({free < kFolderFull_bytes ? Severity::fail : Severity::warn, "disk", text,
                      "make room: a node that cannot write there does not start again"});
}

void look_at_memory(const SeenNode& seen, Findings& findings) {
  if (!seen.memory || seen.memory->total_bytes <= 0) return;
  const std::string text = fmt::format("{} of {} free", human_bytes(seen.memory->free_bytes),
                                       human_bytes(seen.memory->total_bytes));
  const bool is_low = seen.memory->free_bytes < kMemoryLow * seen.memory->total_bytes;
  findings.push_back({is_low ? Severity::warn : Severity::ok, "memory", text,
                      is_low ? "the system may end processes: run fewer nodes here" : ""});
}

// Whether the node or its trainer was kept from its processors between the looks. A node of an
// earlier version does not say.
void look_at_cores(const SeenNode& seen, Findings& findings) {
  const json& before = part(seen.status.document, "cores");
  const json& after = part(seen.later.document, "cores");
  const double usable = number_of(after, "usable");
  if (usable <= 0) return;
  const auto grown = [&](const char* key) {
    return number_of(after, key) - number_of(before, key);
  };
  if (const double periods = grown("throttled"); periods > 0)
    findings.push_back(
        {Severity::warn, "cores",
         fmt::format("its control group used up the time of {:.3g} cores in {:.0f} periods within "
                     "{:.1f} s",
                     usable, periods, seen.between_s),
         "start fewer threads (OMP_NUM_THREADS for a trainer), or raise the quota (cpu.max)"});
  else if (grown("overheated") > 0)
    findings.push_back({Severity::warn, "cores", "heat slows the processor down",
                        "start fewer threads, or cool the machine: rounds take as long as the "
                        "slowest node"});
  else
    findings.push_back({Severity::ok, "cores", fmt::format("{:.3g}, not throttled", usable), ""});
}

// A node of an earlier version does not say.
void look_at_descriptors(const SeenNode& seen, Findings& findings) {
  const json& descriptors = part(seen.status.document, "descriptors");
  const double used = number_of(descriptors, "used"), allowed = number_of(descriptors, "allowed");
  if (allowed <= 0) return;
  const bool are_few = allowed < kDescriptorsFew || allowed - used < kDescriptorsLow * allowed;
  findings.push_back(
      {are_few ? Severity::warn : Severity::ok, "files",
       fmt::format("{:.0f} descriptors of {:.0f}, {:.0f} for HTTP", used, allowed,
                   std::min(allowed / 8, 256.0)),
       are_few ? "raise the hard limit of the process (ulimit -Hn, LimitNOFILE=): further "
                 "connections are closed, and without any left it writes no checkpoint"
               : ""});
}

}  // namespace

std::string_view name(Severity severity) {
  return severity == Severity::ok ? "ok" : severity == Severity::warn ? "warn" : "FAIL";
}

std::vector<Finding> diagnose(const SeenNode& seen) {
  Findings findings{look_at_api(seen)};
  if (findings.back().severity == Severity::fail) return findings;
  look_at_clock(seen, findings);
  if (auto token = look_at_token(seen)) {
    findings.push_back(*std::move(token));
    return findings;
  }
  if (seen.status.status != 200 || !seen.status.document.is_object()) {
    const bool is_starting = seen.status.status == 503;
    findings.push_back({is_starting ? Severity::warn : Severity::fail, "state",
                        seen.status.status == 0 ? "no status: " + printable(seen.status.problem)
                                                : error_of(seen.status),
                        is_starting ? "ask again in a while: it may be loading its data"
                                    : "see the log of the node"});
    return findings;
  }
  look_at_state(seen, findings);
  look_at_run(seen, findings);
  look_at_trainer(seen, findings);
  look_at_rounds(seen, findings);
  look_at_members(seen, findings);
  look_at_links(seen, findings);
  look_at_ports(seen, findings);
  look_at_keys(seen, findings);
  look_at_rejected(seen, findings);
  look_at_folder(seen, findings);
  look_at_memory(seen, findings);
  look_at_cores(seen, findings);
  look_at_descriptors(seen, findings);
  return findings;
}

std::vector<Finding> diagnose(const SeenPeer& seen) {
  const std::string at = to_string(seen.at);
  if (seen.is_rest)
    return {{Severity::fail, "port", fmt::format("{} is the REST interface of a node", at),
             fmt::format("name its port for other nodes, which starling members --api http://{} "
                         "shows; starling doctor --api http://{} asks the node",
                         at, at)}};
  const bool is_open = seen.state == PortState::greets;
  return {{is_open ? Severity::ok : Severity::fail, "port",
           fmt::format("{} {}", at, in_words(seen.state)), port_advice(seen.state)}};
}

}  // namespace starling::daemon
