// What else comes from outside: answers of name servers, documents of other nodes that a command
// shows, scenarios of the simulator.
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "daemon/cli/ask/diagnosis.h"
#include "daemon/cli/ask/fleet_documents.h"
#include "daemon/cli/ask/present.h"
#include "daemon/process/dns.h"
#include "daemon/process/overheard.h"
#include "daemon/rest/fleet_json.h"
#include "daemon/rest/status_json.h"
#include "sim/scenario.h"
#include "tests/daemon/snapshot_example.h"
#include "tests/fuzz/input.h"

namespace starling::fuzz {
namespace {

using nlohmann::json;

// ---------------------------------------------------------------- name servers

void run_dns(Bytes input) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(input.data());
  const auto answer = daemon::read_dns_answer({bytes, input.size()});
  if (!answer) return expect_reason(answer.error());
  ENSURE(answer->addresses.size() <= daemon::kDnsAddressesLimit &&
             answer->services.size() <= daemon::kDnsServicesLimit,
         "an answer is bounded");
  for (const std::string& address : answer->addresses)
    ENSURE(is_numeric({address, 1}), "an address is one");
  for (const daemon::DnsService& service : answer->services)
    ENSURE(is_host(service.at.host) && service.at.port > 0, "a service is at a host");
}

std::vector<std::string> dns_seeds() {
  const std::string head("\0\1\x81\x80\0\1\0\2\0\0\0\0", 12);
  const std::string question("\1n\7example\0\0\1\0\1", 15);
  const std::string v4("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0\1", 16);
  const std::string v6("\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 28);
  const std::string service("\xc0\x0c\0\x21\0\1\0\0\0\x3c\0\x0a\0\1\0\2\x1d\xb0\1a\xc0\x0c", 22);
  return {head + question + v4 + v6, head + question + service + v4};
}

// ---------------------------------------------------------------- documents

const std::vector<std::string>& documents() {
  static const auto kAll = [] {
    const daemon::Snapshot snapshot = daemon::example_snapshot();
    return std::vector<std::string>{
        daemon::to_text(daemon::status_json(snapshot, 0.5, 0.4)),
        daemon::to_text(daemon::fleet_json(snapshot)),
        daemon::to_text(daemon::members_json(snapshot)),
        daemon::to_text(daemon::neighbors_json(snapshot)),
        R"({"vertices": [{"name": "node-0"}], "edges": [[0, 1]], "second_modulus": 0.5})",
        R"({"points": [{"round": 1, "loss": 0.5, "time_s": 1}]})",
        R"({"events": [{"sequence": 1, "time_s": 2, "kind": "edge_opened", "text": "x"}]})"};
  }();
  return kAll;
}

constexpr std::string_view kCommands[] = {"status",   "fleet",       "members", "neighbors",
                                          "topology", "convergence", "events"};

void expect_plain(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    ENSURE(is_plain(rest.substr(0, end)), "what is shown does not steer a terminal");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void run_document(Bytes input) {
  Input in(input);
  const std::string_view command = kCommands[in.below(std::size(kCommands))];
  const json document = json::parse(text_of(in.rest()), nullptr, false);
  if (const auto text = daemon::present(command, document))
    expect_plain(*text);
  else
    expect_reason(text.error());
  if (document.is_discarded()) return;
  const json sound = json::parse(documents()[0]);
  for (const auto& view :
       {daemon::view_of_fleet(document, document, sound), daemon::view_of_node(document)})
    if (!view) expect_reason(view.error());
  daemon::SeenNode seen{.at = {.host = "10.0.0.1", .port = 7680},
                        .port = daemon::PortState::silent};
  seen.health = {.status = 200, .document = json::object()};
  seen.status = seen.later = {.status = 200, .document = command == "members" ? sound : document};
  seen.members = seen.neighbors = {.status = 200, .document = document};
  ENSURE(!diagnose(seen).empty(), "a node has a finding");
}

std::vector<std::string> document_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < documents().size(); ++k)
    seeds.push_back(static_cast<char>(k) + documents()[k]);
  return seeds;
}

// The last line of what a trainer writes.
void run_last_line(Bytes input) {
  Input in(input);
  daemon::LastLine line;
  while (!in.empty()) line.add(in.text(1 + in.byte()));
  const std::string text = line.text();
  ENSURE(text.size() <= daemon::LastLine::kBytesLimit && is_plain(text) && is_utf8(text),
         "a line for people is plain and short");
}

std::vector<std::string> last_line_seeds() {
  return {
      "\x10"
      "Traceback (most recent call last):\n  File\r 10 %\r\x1b[31mModuleNotFound\n\n",
      "\2\xc3\xa4\xe2\x80\xae\n"};
}

// ---------------------------------------------------------------- scenarios

void run_scenario(Bytes input) {
  const auto scenario = sim::parse_scenario(text_of(input));
  if (!scenario) return expect_reason(scenario.error());
  const std::string once = sim::to_text(*scenario);
  const auto again = sim::parse_scenario(once);
  ENSURE(again && sim::to_text(*again) == once, "a scenario reads as it was written");
}

std::vector<std::string> scenario_seeds() {
  std::vector<std::string> seeds;
  for (const std::uint64_t seed : {1, 2, 3})
    seeds.push_back(sim::to_text(
        sim::draw_scenario(seed, 8, std::chrono::seconds(60), {.nodes = seed == 3 ? 3U : 0U})));
  for (const sim::FaultRule& rule : sim::fault_rules())
    seeds.push_back(fmt::format("# {}\nseed 7\nnodes 4\nat 1.5 s: {} node-1 0.5 for 3 s\n",
                                rule.verb, rule.verb));
  return seeds;
}

}  // namespace

std::vector<Target> document_targets() {
  return {{"dns", run_dns, dns_seeds, 512},
          {"documents", run_document, document_seeds, 4096, 300},
          {"last-line", run_last_line, last_line_seeds, 1024, 500},
          {"scenario", run_scenario, scenario_seeds, 1024, 800}};
}

}  // namespace starling::fuzz
