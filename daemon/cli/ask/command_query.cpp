#include "daemon/cli/ask/command_query.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "base/command_line.h"
#include "base/seed_name.h"
#include "daemon/cli/ask/live_query.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/ask/present.h"
#include "daemon/cli/help/help.h"
#include "daemon/cli/terminal/screen.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/http_client.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kPatience{5};
constexpr timespec kWatchInterval = {.tv_sec = 1, .tv_nsec = 0};

enum ExitCode { done = 0, refused = 1, misused = 2, unreachable = 4 };

struct Resource {
  std::string_view command, method, target;
};
constexpr std::array<Resource, 12> kResources = {{{"status", "GET", "/v1/status"},
                                                  {"fleet", "GET", "/v1/fleet"},
                                                  {"members", "GET", "/v1/members"},
                                                  {"neighbors", "GET", "/v1/neighbors"},
                                                  {"topology", "GET", "/v1/topology"},
                                                  {"convergence", "GET", "/v1/convergence"},
                                                  {"events", "GET", "/v1/events?follow=0"},
                                                  {"trace", "GET", "/v1/trace"},
                                                  {"join", "POST", "/v1/join"},
                                                  {"leave", "POST", "/v1/leave"},
                                                  {"pause", "POST", "/v1/pause"},
                                                  {"resume", "POST", "/v1/resume"}}};

// ---- what is asked

struct Query {
  std::string_view command;
  NodeAccess access = {};
  std::string_view method;
  std::string target = {}, body = {};
  bool verbatim = false;  // print the document as it came
  bool watch = false;
  bool all = false;  // ask every member too
};

bool is_for_all(std::string_view command) {
  return command == "pause" || command == "resume";
}

std::vector<CommandOption> options_of(const Resource& resource) {
  std::vector<CommandOption> options = {
      {"api", ""}, {"token-file", ""}, {"json", "", false}, {"help,h", "", false}};
  if (resource.method == "GET" && resource.command != "trace")
    options.push_back({"watch", "", false});
  if (resource.command == "topology") options.push_back({"dot", "", false});
  if (is_for_all(resource.command)) options.push_back({"all", "", false});
  return options;
}

// The body of a join.
Result<std::string> join_body(const CommandLine& line) {
  if (line.positional.size() != 1)
    return fail("{} addresses; expected one HOST:PORT, the control address of a member",
                line.positional.size());
  TRY(const SeedName seed, parse_seed_name(line.positional.front()));
  return json{{"address", to_string(seed)}}.dump();
}

Result<Query> read_query(const Resource& resource, const CommandLine& line) {
  Query query{.command = resource.command,
              .method = resource.method,
              .target = std::string(resource.target),
              .verbatim = line.has("json") || line.has("dot") || resource.command == "trace",
              .watch = line.has("watch"),
              .all = line.has("all")};
  if (!line.keys.empty())
    return fail("--{}: keys belong to starling run and up", line.keys.front().first);
  if (line.has("json") && (line.has("watch") || line.has("dot")))
    return fail("--json prints one document; expected no --watch or --dot with it");
  TRY(query.access, read_node_access(line));
  if (line.has("dot")) query.target += "?format=dot";
  if (resource.command == "join") {
    TRY(query.body, join_body(line));
  } else if (!line.positional.empty()) {
    return fail("\"{}\": expected options only", line.positional.front());
  }
  return query;
}

// ---- what comes back

int complain(std::string_view command, ExitCode code, std::string_view problem) {
  fmt::print(stderr, "starling {}: {}\n", command, printable(problem));
  return code;
}

Result<std::string> text_of(const Query& query, const HttpReply& reply) {
  const bool is_json = query.verbatim && query.target.find("format=dot") == std::string::npos;
  if (is_json && json::parse(reply.body, nullptr, false).is_discarded())
    return fail("the answer is no JSON; expected the REST interface of a node there");
  if (query.verbatim) return reply.body.ends_with('\n') ? reply.body : reply.body + "\n";
  const auto url = to_string(query.access.node);
  if (query.command == "join") return fmt::format("node at {} is told to join\n", url);
  if (query.method == "POST") return fmt::format("node at {} is told to {}\n", url, query.command);
  return present(query.command, json::parse(reply.body, nullptr, false));
}

// From here on only events that are not shown yet.
void move_on(Query& query, const HttpReply& reply) {
  const json document = json::parse(reply.body, nullptr, false);
  const json::json_pointer path("/events");
  if (!document.is_object() || !document.contains(path) || document[path].empty()) return;
  const json& last = document[path].back();
  if (last.is_object() && last.contains("sequence") && last["sequence"].is_number_unsigned())
    query.target =
        fmt::format("/v1/events?follow=0&since={}", last["sequence"].get<std::uint64_t>());
}

Result<HttpReply> ask(const Query& query, std::string_view target) {
  return http_request(query.access.node, query.method, target, query.body, kPatience,
                      query.access.token);
}

// A further document for what --watch draws; null where there is none.
json document_of(const Query& query, const std::string& target) {
  const auto reply = ask(query, target);
  if (!reply || reply->status != 200) return nullptr;
  json document = json::parse(reply->body, nullptr, false);
  return document.is_discarded() ? json(nullptr) : document;
}

// Where the text goes: a screen, or standard output as it is.
class Output {
 public:
  explicit Output(const Query& query)
      : query_(&query),
        live_([&query](const std::string& target) { return document_of(query, target); }) {}

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
    TRY(const Frame frame, live_.frame(query_->command, json::parse(reply.body, nullptr, false),
                                       time_s, screen_.size(), screen_.style()));
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

// The node has no status yet; who watches waits for it.
bool is_starting(const HttpReply& reply) {
  const json document = json::parse(reply.body, nullptr, false);
  const json::json_pointer path("/error/code");
  return reply.status == 503 && document.is_object() && document.contains(path) &&
         document[path] == "starting";
}

// A list that goes to other programs, such as a monitor, lacks their addresses.
void tell_unreachable(const HttpReply& reply) {
  const auto members = living_members(json::parse(reply.body, nullptr, false));
  std::string names;
  for (const LivingMember& member : members.value_or(std::vector<LivingMember>()))
    if (!member.http) names += (names.empty() ? "" : ", ") + member.name;
  if (!names.empty()) complain("members", done, without_http(names));
}

int ask_once(Query& query, Output& output) {
  const auto reply = ask(query, query.target);
  if (!reply)
    return complain(query.command, unreachable,
                    fmt::format("{}; expected a running node there: start one with starling run, "
                                "or name another with --api URL",
                                reply.error().text));
  if (query.watch && is_starting(*reply)) return done;
  if (reply->status >= 300)
    return complain(
        query.command, refused,
        fmt::format("http://{} refuses: {}", to_string(query.access.node), refusal_of(*reply)));
  if (const auto shown = output.show(*reply); !shown)
    return complain(query.command, refused,
                    fmt::format("http://{}: {}", to_string(query.access.node), shown.error().text));
  if (query.command == "events") move_on(query, *reply);
  if (query.command == "members" && !query.watch) tell_unreachable(*reply);
  return done;
}

Result<std::vector<LivingMember>> members_of(const Query& query) {
  TRY(const HttpReply reply,
      http_request(query.access.node, "GET", "/v1/members", {}, kPatience, query.access.token));
  if (reply.status != 200)
    return fail("http://{} refuses to list its members: {}", to_string(query.access.node),
                refusal_of(reply));
  return living_members(json::parse(reply.body, nullptr, false));
}

// Every member, the node asked among them. The worst exit code of all.
int ask_all(const Query& query) {
  const auto members = members_of(query);
  if (!members) return complain(query.command, unreachable, members.error().text);
  int worst = done;
  for (const LivingMember& member : *members) {
    if (!member.http) {
      worst = std::max<int>(worst, complain(query.command, unreachable, without_http(member.name)));
      continue;
    }
    Query one = query;
    one.access.node = *member.http;
    Output output(one);
    worst = std::max(worst, ask_once(one, output));
  }
  return worst;
}

// Until Ctrl-C, which is waited for rather than handled, so that nothing is cut short.
int watch(Query& query, Output& output) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  for (;;) {
    if (const int code = ask_once(query, output); code != done) return code;
    if (sigtimedwait(&stop, nullptr, &kWatchInterval) > 0) return done;
  }
}

}  // namespace

int command_query(std::string_view command, std::span<const std::string> arguments) {
  const auto resource = std::ranges::find(kResources, command, &Resource::command);
  ENSURE(resource != kResources.end(), "a command that asks a node");
  const auto line = parse_command_line(arguments, options_of(*resource));
  if (!line) return complain(command, misused, line.error().text);
  if (line->has("help")) {
    fmt::print("{}", help_for(command));
    return done;
  }
  auto query = read_query(*resource, *line);
  if (!query) return complain(command, misused, query.error().text);
  if (query->all) return ask_all(*query);
  Output output(*query);
  return query->watch ? watch(*query, output) : ask_once(*query, output);
}

}  // namespace starling::daemon
