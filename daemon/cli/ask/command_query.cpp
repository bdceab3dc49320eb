#include "daemon/cli/ask/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/seed_name.h"
#include "base/text.h"
#include "daemon/cli/ask/live_query.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/ask/present.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/output.h"
#include "daemon/cli/terminal/screen.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/process/json_text.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr timespec kWatchInterval = {.tv_sec = 1, .tv_nsec = 0};

// ---- what is asked

struct Query {
  std::string_view command;
  NodeAccess access = {};
  std::string_view method;
  std::string target = {}, body = {};
  std::string changes = {};  // of set, as they were given
  bool verbatim = false;     // print the document as it came
  bool watch = false;
  bool all = false;  // ask every member too
};

// The body of a join.
Result<std::string> join_body(const CommandLine& line) {
  TRY(const SeedName seed, parse_seed_name(line.positional.front()));
  return json{{"address", to_string(seed)}}.dump();
}

// With KEY=VALUE it changes these settings, otherwise it asks for them.
Result<void> read_set(const CommandLine& line, Query& query) {
  query.target = "/v1/settings";
  json changes = json::object();
  for (const std::string& change : line.positional) {
    const std::size_t sign = change.find('=');
    if (sign == std::string::npos || sign == 0)
      return fail("{}: expected KEY=VALUE, such as eval.every=5", change);
    changes[change.substr(0, sign)] = change.substr(sign + 1);
  }
  if (changes.empty())
    query.method = "GET";
  else
    query.body = changes.dump();
  query.changes = fmt::format("{}", fmt::join(line.positional, " "));
  if (const auto round = line.value("at-round")) query.target += "?at-round=" + *round;
  return {};
}

// The resource of a command has its name, but for that of set.
Result<Query> read_query(std::string_view method, const CommandLine& line) {
  Query query{.command = line.command,
              .method = method,
              .target = fmt::format("/v1/{}", line.command),
              .verbatim = line.has("json") || line.has("dot") || line.command == "trace",
              .watch = line.has("watch"),
              .all = line.has("all") || line.has("fleet")};
  if (line.has("json") && (line.has("watch") || line.has("dot")))
    return fail("--json prints one document; expected no --watch or --dot with it");
  TRY(query.access, read_node_access(line));
  if (line.has("dot")) query.target += "?format=dot";
  if (query.command == "events") query.target += "?follow=0";
  if (query.command == "join") {
    TRY(query.body, join_body(line));
  }
  if (query.command == "set") TRY_DO(read_set(line, query));
  if (const auto round = line.value("at-round"); round && query.command == "stop") {
    const auto number = parse_integer(*round);
    if (!number || *number < 1)
      return fail("--at-round {}: expected a whole number above 0", *round);
    query.body = json{{"at_round", *number}}.dump();
  }
  return query;
}

// ---- what comes back

Result<std::string> text_of(const Query& query, const HttpReply& reply) {
  const bool is_json = query.verbatim && query.target.find("format=dot") == std::string::npos;
  if (is_json && parse_json(reply.body).is_discarded())
    return fail("the answer is no JSON; expected the REST interface of a node there");
  if (query.verbatim) return reply.body.ends_with('\n') ? reply.body : reply.body + "\n";
  const auto url = to_string(query.access.node);
  if (query.command == "join") return fmt::format("node at {} is told to join\n", url);
  if (query.method == "POST")
    return fmt::format("node at {} is told to {}{}{}\n", url, query.command,
                       query.changes.empty() ? "" : " ", query.changes);
  return present(query.command, parse_json(reply.body));
}

// From here on only events that are not shown yet.
void move_on(Query& query, const HttpReply& reply) {
  const json document = parse_json(reply.body);
  const json& events = part(document, "events");
  if (!events.is_array() || events.empty()) return;
  if (const json& number = part(events.back(), "sequence"); number.is_number_unsigned())
    query.target = fmt::format("/v1/events?follow=0&since={}", number.get<std::uint64_t>());
}

// Where the text goes: a screen, or standard output as it is.
class Output {
 public:
  explicit Output(const Query& query)
      : query_(&query), live_([&query](const std::string& target) {
          return document_of(query.access, target).value_or(json(nullptr));
        }) {}

  // Events are lines that follow each other.
  bool draws() const { return query_->watch && query_->command != "events" && screen_.is_live(); }

  Result<void> show(const HttpReply& reply) {
    if (!draws()) {
      TRY(const std::string text, text_of(*query_, reply));
      fmt::print("{}", text);
      std::fflush(stdout);
      return {};
    }
    const double time_s = std::chrono::duration<double>(Clock::now() - started_).count();
    TRY(const Frame frame, live_.frame(query_->command, parse_json(reply.body), time_s,
                                       screen_.size(), screen_.style()));
    screen_.draw(frame);
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;

  const Query* query_;
  LiveQuery live_;
  Screen screen_{STDOUT_FILENO};
  Clock::time_point started_ = Clock::now();
};

// The node has no status yet; --watch waits for it.
bool is_starting(const HttpReply& reply) {
  const json document = parse_json(reply.body);
  return reply.status == 503 && part(part(document, "error"), "code") == "starting";
}

// A list that goes to other programs, such as a monitor, lacks their addresses.
void tell_unreachable(const HttpReply& reply) {
  const auto members = living_members(parse_json(reply.body));
  std::string names;
  for (const LivingMember& member : members.value_or(std::vector<LivingMember>()))
    if (!member.http) names += (names.empty() ? "" : ", ") + member.name;
  if (!names.empty()) complain("members", without_http(names));
}

Outcome<void> ask_once(Query& query, Output& output) {
  TRY(const HttpReply reply, ask(query.access, query.method, query.target, query.body));
  if (query.watch && is_starting(reply)) return {};
  if (reply.status >= 300) return tl::unexpected(refusal_of(query.access, reply));
  if (const auto shown = output.show(reply); !shown)
    return tl::unexpected(complaint_of(query.access, shown.error()));
  if (query.command == "events") move_on(query, reply);
  if (query.command == "members" && !query.watch) tell_unreachable(reply);
  return {};
}

// Every member, the node asked among them. The worst exit code of all.
Outcome<int> ask_all(const Query& query) {
  TRY(const std::vector<LivingMember> members, members_of(query.access));
  int worst = kExitDone;
  for (const LivingMember& member : members) {
    Query one = query;
    one.access.node = member.http.value_or(one.access.node);
    Output output(one);
    const auto asked =
        member.http ? ask_once(one, output) : tl::unexpected(without_http(member.name));
    if (!asked) worst = std::max(worst, complain(query.command, asked.error()));
  }
  return worst;
}

// Until Ctrl-C, which is waited for rather than handled, so that nothing is cut short.
Outcome<int> watch(Query& query, Output& output) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  for (;;) {
    TRY_DO(ask_once(query, output));
    if (sigtimedwait(&stop, nullptr, &kWatchInterval) > 0) return kExitDone;
  }
}

Outcome<int> run_query(std::string_view method, const CommandLine& line) {
  TRY(Query query, read_query(method, line));
  if (query.all) return ask_all(query);
  Output output(query);
  if (query.watch) return watch(query, output);
  TRY_DO(ask_once(query, output));
  return kExitDone;
}

// ---- what each takes

constexpr auto kShownOptions = join(kAsking, kShowing);
constexpr auto kTopologyOptions =
    join(kAsking, kShowing, {{"dot", "", "print the graph in the DOT language"}});
constexpr auto kEventsOptions =
    join(kAsking, {{"json", "", "print the document as the node sends it, and nothing else"},
                   {"watch", "", "go on with what happens until Ctrl-C"}});
// It prints JSON in any case.
constexpr auto kTraceOptions = join(kAsking, {{"json", "", "print the document, as without it"}});
constexpr auto kToldOptions =
    join(kAsking, {{"json", "", "print the node's answer, and nothing else"}});
constexpr auto kAllToldOptions =
    join(kAsking, {{"all", "", "tell every member that this node knows"},
                   {"json", "", "print the nodes' answers, and nothing else"}});
constexpr auto kStopOptions = join(
    kAsking, {{"fleet", "", "tell every member that this node knows"},
              {"at-round", "N", "end after that round; by default as soon as all can know of it"},
              {"json", "", "print the nodes' answers, and nothing else"}});
constexpr auto kSetOptions =
    join(kAsking, {{"at-round", "N",
                    "the first round with the new values, of keys on which nodes agree; by default "
                    "as soon as all can know of it"},
                   {"all", "", "tell every member that this node knows"},
                   {"json", "", "print the nodes' answers, and nothing else"}});
constexpr std::string_view kJoinArguments[] = {"HOST:PORT"};
constexpr std::string_view kSetArguments[] = {"KEY=VALUE..."};

constexpr ProgramCommand asking(ProgramCommand command) {
  command.exits = kAskingExits;
  command.run = [](const CommandLine& line) { return run_query("GET", line); };
  return command;
}
constexpr ProgramCommand telling(ProgramCommand command) {
  command = asking(command);
  command.run = [](const CommandLine& line) { return run_query("POST", line); };
  return command;
}

}  // namespace

constinit const ProgramCommand kStatus = asking(
    {.name = "status",
     .summary = "how a node is doing",
     .usage = "starling status [--api URL] [--json] [--watch]",
     .description = R"(Shows what a node says about itself: its state and why, round, loss and
accuracy, how far it is from the others (consensus distance: ||x_i - mean|| / ||mean||, estimated
without a server), its place in the topology, traffic, and how its time divides into computing,
waiting and mixing.)",
     .options = kShownOptions,
     .notes = R"(Example: follow the second of some local nodes

  starling status --api http://127.0.0.1:7690 --watch)"});

constinit const ProgramCommand kFleet = asking(
    {.name = "fleet",
     .summary = "how all nodes are doing, as any of them knows",
     .usage = "starling fleet [--api URL] [--json] [--watch]",
     .description = R"(Shows one sentence on the whole fleet, and of each quantity the mean over all
nodes, the smallest and the largest. No server adds them up: neighbours average what they hold (flow
updating), and pings carry the extremes. +- is what a mean may still be off.)",
     .options = kShownOptions});

constinit const ProgramCommand kMembers = asking(
    {.name = "members",
     .summary = "everybody a node knows",
     .usage = "starling members [--api URL] [--json] [--watch]",
     .description = R"(Lists every member a node has heard of, itself included. STATE is alive,
suspect (silent for a while), dead (silent for long) or left (took leave); HEARD is how long ago
there was news of it.)",
     .options = kShownOptions});

constinit const ProgramCommand kNeighbors =
    asking({.name = "neighbors",
            .summary = "the edges of a node",
            .usage = "starling neighbors [--api URL] [--json] [--watch]",
            .description =
                R"(Lists the peers that a node exchanges parameters with. WEIGHT is how much of a
neighbour's model enters the node's own each round; BEHIND is by how many rounds its newest vector
is older; PATIENCE is how long a round waits for it; DISTANCE is ||x_j - x_i||.)",
            .options = kShownOptions});

constinit const ProgramCommand kTopology = asking(
    {.name = "topology",
     .summary = "the graph as a node sees it",
     .usage = "starling topology [--api URL] [--json | --dot] [--watch]",
     .description = R"(Shows the edges and their weights, whether the graph is connected, and its
spectral gap: 1 minus the second eigenvalue modulus of the weights, larger mixes faster.)",
     .options = kTopologyOptions,
     .notes = R"(Example: a picture, where Graphviz is installed

  starling topology --dot | dot -Tsvg > topology.svg)"});

constinit const ProgramCommand kConvergence = asking(
    {.name = "convergence",
     .summary = "loss, accuracy and distance over the rounds",
     .usage = "starling convergence [--api URL] [--json] [--watch]",
     .description = R"(Shows the series since the node's start: a thinned table and the course of
loss, accuracy and consensus distance in one line each (on a logarithmic scale where they span two
decades). --json holds every round of a run of up to 10,000 and an evenly thinned set above.)",
     .options = kShownOptions});

constinit const ProgramCommand kEvents = asking(
    {.name = "events",
     .summary = "what has happened, in order",
     .usage = "starling events [--api URL] [--json] [--watch]",
     .description = R"(Prints the last 1,000 events of a node, one a line with the time as in its
log: members that joined, died or left, edges, the beginning and the end of training.)",
     .options = kEventsOptions,
     .notes = "GET /v1/events gives the same as a stream of server-sent events."});

constinit const ProgramCommand kTrace = asking(
    {.name = "trace",
     .summary = "what a node spent its last rounds on, for chrome://tracing",
     .usage = "starling trace [--api URL]",
     .description = R"(Prints the last 16,384 spans of a node as trace events: mixing, evaluating,
computing and encoding of the training thread, sending, waiting for a neighbour, and vectors on
their way. Put it in a file and open that in chrome://tracing or in Perfetto; files of several nodes
open beside each other.)",
     .options = kTraceOptions,
     .notes = R"(Example:

  starling trace > trace.json)"});

constinit const ProgramCommand kSet = telling(
    {.name = "set",
     .summary = "change settings of a running node",
     .usage = "starling set [KEY=VALUE ...] [--at-round N] [--all] [--api URL] [--json]",
     .description =
         R"(Sets keys while nodes train. A node's own, such as eval.every, hold at once at
the node that is told, or with --all at every member, until its process ends. Keys on which nodes
agree, such as optim.learning-rate, are told to any one node, and hold at all nodes from the same
round on. Either all values are taken, or none. Without KEY=VALUE it lists the keys that can be set,
and their values.)",
     .options = kSetOptions,
     .notes = R"(Example: take smaller steps at all nodes from round 5000 on, and judge the model of
this one after every round

  starling set optim.learning-rate=.01 --at-round 5000
  starling set eval.every=1)",
     .arguments = kSetArguments});

constinit const ProgramCommand kJoin = telling(
    {.name = "join",
     .summary = "tell a node to join a cluster",
     .usage = "starling join HOST:PORT [--api URL] [--json]",
     .description = R"(Tells a running node to join the cluster that HOST:PORT belongs to: the
control address of any member, or dns:NAME:PORT or dns:_SERVICE._tcp.NAME, as in cluster.join.
Nobody pauses training for it. See starling members for what came of it.)",
     .options = kToldOptions,
     .notes = R"(Example: bring the node of the second terminal to the first

  starling join 127.0.0.1:7600 --api http://127.0.0.1:7690)",
     .arguments = kJoinArguments,
     .arguments_least = 1});

constinit const ProgramCommand kLeave = telling(
    {.name = "leave",
     .summary = "tell a node to take leave and stop",
     .usage = "starling leave [--api URL] [--json]",
     .description = R"(Tells a running node to take leave of the others, who go on without waiting
for it, and to stop.)",
     .options = kToldOptions});

constinit const ProgramCommand kStop = telling(
    {.name = "stop",
     .summary = "end the run of the fleet, with one model",
     .usage = "starling stop [--fleet] [--at-round N] [--api URL] [--json]",
     .description = R"(A node that is told wants the run to end. It ends for all once one node more
than may lie (exchange.liars) wants that: all stop stepping, make their models one, and leave.)",
     .options = kStopOptions,
     .notes = R"(Example: end the run after round 5000

  starling stop --fleet --at-round 5000)"});

constinit const ProgramCommand kPause = telling(
    {.name = "pause",
     .summary = "tell a node to train no further for now",
     .usage = "starling pause [--all] [--api URL] [--json]",
     .description = R"(The node ends its round, evaluates its model and begins no other until
starling resume. It keeps its place and its neighbours, answers newcomers, and nobody's rounds wait
for it. A pause ends with the process.)",
     .options = kAllToldOptions,
     .notes = R"(Example: let the whole fleet rest, and go on

  starling pause --all
  starling resume --all)"});

constinit const ProgramCommand kResume = telling(
    {.name = "resume",
     .summary = "tell a paused node to train on",
     .usage = "starling resume [--all] [--api URL] [--json]",
     .description = R"(The node goes on with the round after the one that starling pause ended, or
with the round of its neighbours if they are far ahead.)",
     .options = kAllToldOptions});

}  // namespace starling::daemon
