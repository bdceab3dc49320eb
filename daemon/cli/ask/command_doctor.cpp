#include "base/utf8.h"
#include "daemon/cli/ask/commands.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "daemon/cli/ask/diagnosis.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/cli/terminal/text_width.h"
#include "daemon/process/host_names.h"
#include "daemon/process/json_text.h"
#include "daemon/process/own_addresses.h"
#include "daemon/process/port_probe.h"
#include "daemon/rest/document.h"
#include "daemon/rest/http_client.h"
#include "daemon/rest/http_message.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kLookPatience{2};
constexpr std::chrono::milliseconds kBetweenLooks{1000};
// Members whose ports are tried: neighbours first.
constexpr std::size_t kTriedMembersLimit = 64;

// ---- looking at a node

class Looks {
 public:
  Looks(Endpoint at, std::string token) : token_(std::move(token)) {
    seen_.at = std::move(at);
    seen_.has_token = !token_.empty();
  }

  SeenNode take() {
    const Endpoint ports[] = {seen_.at};
    seen_.port = probe_ports(ports, Awaited::connection, kLookPatience).front();
    if (seen_.port != PortState::silent) return seen_;
    look_at_health();
    if (seen_.health.status == 0)  // a port for other nodes speaks before it hears HTTP
      seen_.port = probe_ports(ports, Awaited::greeting, kLookPatience).front();
    if (seen_.health.status != 200) return seen_;
    seen_.status = ask("/v1/status");
    const auto first = steady_clock::now();
    if (seen_.status.status != 200) return seen_;
    seen_.members = ask("/v1/members");
    seen_.neighbors = ask("/v1/neighbors");
    seen_.is_local = is_of_this_machine();
    look_at_machine();
    look_at_ports();
    std::this_thread::sleep_until(first + kBetweenLooks);
    seen_.later = ask("/v1/status");
    seen_.between_s = std::chrono::duration<double>(steady_clock::now() - first).count();
    return seen_;
  }

 private:
  Answer ask(std::string_view target, std::string* date = nullptr) const {
    const auto reply = http_request(seen_.at, "GET", target, "", kLookPatience, token_);
    if (!reply) return {.problem = reply.error().text};
    if (date) *date = reply->date;
    json document = parse_json(reply->body);
    return {.status = reply->status,
            .document = document.is_discarded() ? json(nullptr) : std::move(document)};
  }

  // The date of an answer is that of some time between the question and its arrival.
  void look_at_health() {
    const std::time_t before = std::time(nullptr);
    std::string date;
    seen_.health = ask("/healthz", &date);
    const auto there = parse_http_date(date);
    if (there)
      seen_.clock_ahead_s = std::difftime(*there, before + (std::time(nullptr) - before) / 2);
  }

  bool is_of_this_machine() const {
    if (is_loopback(seen_.at)) return true;
    const auto address = resolve(seen_.at);
    const auto own = own_address_texts();
    return address && std::ranges::find(own, address->host) != own.end();
  }

  void look_at_machine() {
    if (!seen_.is_local) return;
    const Answer config = ask("/v1/config");
    const json& folder = part(part(config.document, "node.data-dir"), "value");
    if (folder.is_string()) look_at_folder(folder.get<std::string>());
    look_at_memory();
  }

  void look_at_folder(const std::string& path) {
    if (path.empty()) return;
    Folder folder{.path = path};
    struct statvfs space {};
    if (::statvfs(path.c_str(), &space) == 0)
      folder.space = {static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize),
                      static_cast<double>(space.f_blocks) * static_cast<double>(space.f_frsize)};
    else
      folder.problem = std::strerror(errno);
    seen_.folder = folder;
  }

  // "MemAvailable:  123 kB" in /proc/meminfo.
  void look_at_memory() {
    std::ifstream stream("/proc/meminfo");
    std::map<std::string, double> values;
    std::string key, unit;
    for (double value = 0; stream >> key >> value && std::getline(stream, unit);)
      values[key] = value * 1024;
    if (values.contains("MemAvailable:") && values.contains("MemTotal:"))
      seen_.memory = {values["MemAvailable:"], values["MemTotal:"]};
  }

  // Neighbours, recently silent members, then all present ones: a joining member has no edges yet.
  std::set<std::string> names_to_try() const {
    const std::string own =
        seen_.status.document.value(json::json_pointer("/node/name"), std::string());
    std::set<std::string> names;
    const auto add = [&names, &own](const json& list, auto wanted) {
      for (const json& item : list)
        if (item.is_object() && wanted(item.value("state", "")) && item.value("name", "") != own &&
            names.size() < kTriedMembersLimit)
          names.insert(item.value("name", ""));
    };
    add(seen_.neighbors.document.value("neighbors", json::array()),
        [](const std::string&) { return true; });
    add(seen_.members.document.value("members", json::array()),
        [](const std::string& state) { return state == "suspect" || state == "dead"; });
    add(seen_.members.document.value("members", json::array()),
        [](const std::string& state) { return state == "alive"; });
    return names;
  }

  void add_port(const json& member) {
    const auto at = parse_endpoint(member.value("control", ""));
    // A loopback address of another machine is not this one's.
    if (!at || at->port == 0 || (is_loopback(*at) && !seen_.is_local)) return;
    seen_.ports.push_back({.node = member.value("name", ""), .at = *at});
  }

  void look_at_ports() try {
    const std::set<std::string> names = names_to_try();
    for (const json& member : seen_.members.document.value("members", json::array()))
      if (names.contains(member.value("name", ""))) add_port(member);
    std::vector<Endpoint> endpoints;
    for (const SeenPort& port : seen_.ports) endpoints.push_back(port.at);
    const auto states = probe_ports(endpoints, Awaited::greeting, kLookPatience);
    for (std::size_t k = 0; k < states.size(); ++k) seen_.ports[k].state = states[k];
  } catch (const json::exception&) {
    seen_.ports.clear();  // documents of another version
  }

  SeenNode seen_;
  std::string token_;
};

// ---- looking at a peer

SeenPeer look_at_peer(const Endpoint& at) {
  SeenPeer seen{.at = at};
  seen.state = probe_ports(std::span(&at, 1), Awaited::greeting, kLookPatience).front();
  if (seen.state != PortState::silent) return seen;
  const auto reply = http_request(at, "GET", "/healthz", "", kLookPatience);
  seen.is_rest = reply && reply->status == 200 && reply->body.find("reasons") != std::string::npos;
  return seen;
}

// ---- saying it

std::size_t count_of(std::span<const Finding> findings, Severity severity) {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

void print_findings(std::span<const Finding> findings) {
  constexpr std::size_t kIndent = 16;
  const std::string blanks(kIndent, ' ');
  const auto lines = [&](const std::string& text) {
    return fmt::format("{}", fmt::join(wrap_words(text, display_width() - kIndent), "\n" + blanks));
  };
  for (const Finding& finding : findings) {
    fmt::print("{:<6}{:<10}{}\n", name(finding.severity), finding.check, lines(finding.seen));
    if (!finding.advice.empty()) fmt::print("{}{}\n", blanks, lines("=> " + finding.advice));
  }
  const std::size_t failed = count_of(findings, Severity::fail);
  const std::size_t warned = count_of(findings, Severity::warn);
  if (failed + warned == 0)
    fmt::print("All is well.\n");
  else
    fmt::print("{} FAIL, {} warn\n", failed, warned);
}

void print_json(std::span<const Finding> findings) {
  json list = json::array();
  for (const Finding& finding : findings)
    list.push_back({{"severity", name(finding.severity)},
                    {"check", finding.check},
                    {"seen", finding.seen},
                    {"advice", finding.advice}});
  const json document = {{"findings", list},
                         {"failed", count_of(findings, Severity::fail)},
                         {"warned", count_of(findings, Severity::warn)}};
  fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
}

int conclude(std::span<const Finding> findings, bool is_reached, bool as_json) {
  if (as_json)
    print_json(findings);
  else
    print_findings(findings);
  if (!is_reached) return kExitUnreachable;
  return count_of(findings, Severity::fail) > 0 ? kExitFailed : kExitDone;
}

Outcome<int> examine_peer(const std::string& address, bool as_json) {
  const auto at = parse_endpoint(address);
  if (!at || at->port == 0)
    return fail(
        "\"{}\": expected HOST:PORT, the control address of a peer; --api URL names a node to ask",
        printable(address));
  const SeenPeer seen = look_at_peer(*at);
  const bool is_reached = seen.state <= PortState::other;
  return conclude(diagnose(seen), is_reached, as_json);
}

Outcome<int> run_doctor(const CommandLine& line) {
  if (line.has("api") && !line.positional.empty())
    return fail("expected --api URL, or one HOST:PORT, or neither");
  if (!line.positional.empty()) return examine_peer(line.positional[0], line.has("json"));
  TRY(const NodeAccess access, read_node_access(line));
  const SeenNode seen = Looks(access.node, access.token).take();
  return conclude(diagnose(seen), seen.health.status != 0, line.has("json"));
}

constexpr auto kDoctorOptions = join(kAsking, kPrintingJson);
constexpr std::string_view kDoctorArguments[] = {"HOST:PORT"};

}  // namespace

constinit const ProgramCommand kDoctor = {
    .name = "doctor",
    .summary = "what is wrong with a node, and what to do",
    .usage = R"(starling doctor [--api URL] [--token-file FILE] [--json]
       starling doctor HOST:PORT [--json])",
    .description = R"(Asks a node how it is, looks at it once more a second later, and connects from
this machine to the ports of its neighbours. Prints a line a check: ok, warn or FAIL, what was seen,
and what to do. With HOST:PORT it looks from this machine at the port of a peer, such as one that
cluster.join names. Nothing is changed, and each look takes 2 s at most.)",
    .options = kDoctorOptions,
    .notes = R"(Examples: this node; why does it not come to the node that it shall join?

  starling doctor
  starling doctor 10.0.0.2:7600)",
    .exits = "0 nothing failed, 1 something failed, 2 wrong usage, 4 no node answers.",
    .arguments = kDoctorArguments,
    .run = run_doctor};

}  // namespace starling::daemon
