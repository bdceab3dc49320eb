#include "daemon/rest/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "base/seed_name.h"
#include "base/text.h"
#include "daemon/process/clock.h"
#include "daemon/process/json_text.h"
#include "daemon/process/model_file.h"
#include "daemon/process/safetensors.h"
#include "daemon/process/worker.h"
#include "daemon/rest/document_cache.h"
#include "daemon/rest/fleet_json.h"
#include "daemon/rest/http_cache.h"
#include "daemon/rest/metrics_text.h"
#include "daemon/rest/page.h"
#include "daemon/rest/predict_json.h"
#include "daemon/rest/scores_json.h"
#include "daemon/rest/status_json.h"
#include "daemon/rest/trace_json.h"
#include "daemon/setup/trust_files.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using namespace std::string_view_literals;

constexpr std::size_t kEventsAtOnce = 64;  // given to the server

HttpResponse document(const json& content, int status = 200) {
  return {.status = status, .body = to_text(content)};
}

HttpResponse bad_request(std::string_view message) {
  return error_response(400, "bad_request", message);
}

// The value of "name=value" in a query.
std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  for (const std::string& pair : split(query, '&'))
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return pair.substr(name.size() + 1);
  return std::nullopt;
}

// Looks at every byte whatever the first difference, so that time tells nothing about the token.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool is_json(std::string_view content_type) {
  return trim(content_type.substr(0, content_type.find(';'))) == "application/json";
}

HttpResponse not_json(const HttpRequest& request) {
  return error_response(
      415, "not_json",
      fmt::format("Content-Type \"{}\": expected application/json", request.content_type));
}

bool is_ready(gossip::State state) {
  using enum gossip::State;
  return state == training || state == paused || state == degraded || state == finished;
}

// The board's log is the queue of every stream: a client that reads slowly misses the oldest.
HttpSource events_after(const Board& board, std::uint64_t sequence) {
  return [&board, sequence]() mutable {
    std::string text;
    for (const LoggedEvent& event : board.events_since(sequence, kEventsAtOnce)) {
      text += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.sequence, name(event.event.kind),
                          to_text(event_json(event)));
      sequence = event.sequence;
    }
    return text;
  };
}

// Of {"eval.every": 5}.
Result<std::vector<Term>> changes_of(const json& body) {
  constexpr std::string_view kExpected =
      "expected {\"KEY\": VALUE}, and text, a number, true or false as value";
  if (!body.is_object() || body.empty()) return fail("{}", kExpected);
  std::vector<Term> changes;
  for (const auto& [key, value] : body.items()) {
    if (value.is_string())
      changes.emplace_back(key, value.get<std::string>());
    else if (value.is_number() || value.is_boolean())
      changes.emplace_back(key, value.dump());
    else
      return fail("{}: {}", key, kExpected);
  }
  return changes;
}

// Of a model, for people.
std::map<std::string, std::string> origin_of(const Snapshot& last) {
  return {{"node", last.identity.name}, {"round", fmt::to_string(last.status.run.round)}};
}

class Api {
 public:
  Api(Board& board, std::shared_ptr<const LiveSettings> settings, ApiOptions options)
      : board_(&board),
        settings_(std::move(settings)),
        options_(std::move(options)),
        spectrum_(options_.rounds) {}

  HttpResponse answer(const HttpRequest& request) {
    if (auto page = page_response(request)) return *std::move(page);
    const auto route = std::ranges::find_if(kRoutes, [&](const Route& one) {
      return one.path == request.target && one.method == request.method;
    });
    if (route == kRoutes.end()) return no_route(request);
    if (auto refusal = refused(request, *route)) return *std::move(refusal);
    if (!route->with_snapshot) return (this->*route->answer)(request);
    return once_there(board_->ask(), [this, request, route](std::shared_ptr<const Snapshot> seen) {
      snapshot_ = std::move(seen);
      if (!snapshot_) return error_response(503, "starting", "the node has not started yet");
      return (this->*route->answer)(request);
    });
  }

 private:
  enum class Access { open, reads, changes };
  struct Route {
    std::string_view path, method;
    Access access;
    bool with_snapshot;
    HttpResponse (Api::*answer)(const HttpRequest&);
  };
  static const std::array<Route, 24> kRoutes;
  // The graph of these sites, and its sequence; null: still.
  struct Drawn {
    std::shared_ptr<const std::vector<topology::Site>> sites;
    std::shared_ptr<const topology::Graph> graph;
    std::shared_ptr<const topology::Sequence> sequence;
  };

  static HttpResponse no_route(const HttpRequest& request) {
    std::vector<std::string_view> methods;
    for (const Route& one : kRoutes)
      if (one.path == request.target) methods.push_back(one.method);
    if (!methods.empty()) return wrong_method(request, fmt::format("{}", fmt::join(methods, ", ")));
    return error_response(404, "not_found", fmt::format("no resource {}", request.target));
  }

  // The result of `answer` for the value, at once or when it is ready.
  template <class Asked, class Answer>
  static HttpResponse once_there(Asked asked, Answer answer) {
    if (asked.is_ready()) return answer(asked.get());
    return {.later = [asked = std::move(asked), answer]() -> std::optional<HttpResponse> {
      if (!asked.is_ready()) return std::nullopt;
      return answer(asked.get());
    }};
  }

  // The response that `make` gives in the thread of the worker.
  HttpResponse from_worker(std::function<HttpResponse()> make) {
    auto task = std::make_shared<std::packaged_task<HttpResponse()>>(std::move(make));
    auto made = std::make_shared<std::future<HttpResponse>>(task->get_future());
    if (!worker_.submit([task] { (*task)(); }))
      return error_response(503, "busy", "too many large documents are asked for; try again");
    return {.later = [made]() -> std::optional<HttpResponse> {
      if (made->wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
      return made->get();
    }};
  }

  // What `make` gives of the model and its card, in the thread of the worker.
  template <class Make>
  HttpResponse of_model(Make make) {
    const auto answer = [this, make](const std::shared_ptr<const Model>& model) {
      if (!model || model->parameters.empty())
        return error_response(503, "busy", "there is no model yet, or a long step is under way");
      const auto card = board_->card();
      if (!card) return error_response(503, "not_founded", card.error().text);
      if (models::dimension(card->shape) != model->parameters.size())
        return error_response(503, "busy", "the model changes its shape; try again");
      return from_worker([make, card = *card, model] { return make(card, *model); });
    };
    return once_there(board_->ask_model(), answer);
  }

  std::optional<HttpResponse> refused(const HttpRequest& request, const Route& route) const {
    const bool changes = route.access == Access::changes;
    if (changes && is_foreign(request))
      return error_response(403, "foreign_origin",
                            fmt::format("pages of {} may not change this node",
                                        request.origin.empty() ? "another site" : request.origin));
    const bool guarded = changes || (route.access == Access::reads && options_.guard_reads);
    if (!guarded || !options_.token) return std::nullopt;
    if (same_secret(request.authorization, "Bearer " + *options_.token)) return std::nullopt;
    HttpResponse response =
        error_response(401, "unauthorized", "expected Authorization: Bearer TOKEN");
    response.fields.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }

  HttpResponse health(const HttpRequest&) { return document({{"reasons", json::array()}}); }

  HttpResponse readiness(const HttpRequest&) {
    return once_there(board_->ask(), [](const std::shared_ptr<const Snapshot>& snapshot) {
      if (!snapshot) return document({{"reasons", {"the node has not started yet"}}}, 503);
      return readiness(snapshot->status);
    });
  }

  static HttpResponse readiness(const gossip::Status& status) {
    if (is_ready(status.state)) return document({{"reasons", status.reasons}});
    std::vector<std::string> reasons = {fmt::format("the node is {}", gossip::name(status.state))};
    std::ranges::copy(status.reasons, std::back_inserter(reasons));
    return document({{"reasons", reasons}}, 503);
  }

  // The document that `make` gives of the snapshot at hand, serialised once a snapshot.
  template <class Make>
  HttpResponse shared(std::string_view name, Make make) {
    return {.shared_body = documents_.text(snapshot_, name, [&] { return to_text(make()); })};
  }

  template <json (*make)(const Snapshot&)>
  HttpResponse shared(const HttpRequest& request) {
    return shared(request.target, [this] { return make(*snapshot_); });
  }

  HttpResponse status(const HttpRequest&) {
    return shared("status",
                  [this] { return status_json(*snapshot_, second_modulus(), mixing_rate()); });
  }
  HttpResponse metrics(const HttpRequest&) {
    return {.content_type = kMetricsType, .body = metrics_text(*snapshot_, board_->event_counts())};
  }

  HttpResponse topology(const HttpRequest& request) {
    const std::string format = parameter(request.query, "format").value_or("json");
    if (format == "dot")
      return {.content_type = "text/vnd.graphviz; charset=utf-8",
              .body = topology_dot(*snapshot_, graph().get())};
    if (format != "json")
      return bad_request(fmt::format("format={}: expected json or dot", format));
    return shared("topology",
                  [this] { return topology_json(*snapshot_, graph().get(), second_modulus()); });
  }

  HttpResponse convergence(const HttpRequest& request) {
    const auto since = parameter(request.query, "since");
    const auto round = since ? parse_integer(*since) : std::optional<std::int64_t>(-1);
    if (!round || (since && *round < 0))
      return bad_request(fmt::format("since={}: expected a round from 0", *since));
    const std::uint64_t first = static_cast<std::uint64_t>(*round) + 1;
    return with_etag(
        request, document(convergence_json(board_->series_from(first), board_->fleet_from(first))));
  }

  // A stream of server-sent events, or the list of those there are.
  HttpResponse events(const HttpRequest& request) {
    const std::string after = request.last_event_id.empty()
                                  ? parameter(request.query, "since").value_or("0")
                                  : request.last_event_id;
    const auto number = parse_integer(after);
    if (!number || *number < 0)
      return bad_request(fmt::format("since={}: expected the number of an event, or 0", after));
    const auto follow = parameter(request.query, "follow");
    if (follow && follow != "0" && follow != "1")
      return bad_request(fmt::format("follow={}: expected 0 or 1", *follow));
    const auto since = static_cast<std::uint64_t>(*number);
    if (follow ? follow == "0" : is_json(request.accept))
      return with_etag(request, document(events_json(board_->events_since(since))));
    return {.content_type = "text/event-stream", .stream = events_after(*board_, since)};
  }

  // Its tensors under the trainer's names and of its types.
  HttpResponse trainer_model() {
    const auto origin = origin_of(*snapshot_);
    const TrainerStatus trainer = *snapshot_->trainer;
    const auto answer = [this, origin, trainer](const std::shared_ptr<const Model>& model) {
      if (!model || !trainer.write_model || trainer.dimension != model->parameters.size())
        return error_response(503, "busy", "there is no model yet, or a long step is under way");
      return from_worker([origin, model, write = trainer.write_model] {
        return HttpResponse{.content_type = "application/vnd.safetensors",
                            .body = write(model->parameters, origin)};
      });
    };
    return once_there(board_->ask_model(), answer);
  }

  HttpResponse model(const HttpRequest&) {
    if (snapshot_->trainer) return trainer_model();
    return of_model([last = snapshot_, precision = options_.precision](
                        const models::ModelCard& card, const Model& model) {
      std::string body = write_model(card, model.parameters, precision, origin_of(*last));
      return HttpResponse{.content_type = "application/vnd.safetensors", .body = std::move(body)};
    });
  }

  HttpResponse predict(const HttpRequest& request) {
    if (!is_json(request.content_type)) return not_json(request);
    const bool is_of_own = request.target == "/v1/scores";
    return of_model([=, body = parse_json(request.body), data = settings_->config().learner.data](
                        const models::ModelCard& card, const Model& model) {
      const auto answer = is_of_own ? answer_scores({card, model.parameters}, data, body)
                                    : predict_json({card, model.parameters}, body);
      return answer ? document(*answer) : bad_request(answer.error().text);
    });
  }

  HttpResponse trace(const HttpRequest&) {
    return from_worker([board = board_, node = snapshot_->identity.name] {
      return document(trace_json(node, board->trace().spans(), started_at()));
    });
  }

  HttpResponse configuration(const HttpRequest&) {
    return {.body = config_json(settings_->settings())};
  }

  // With POST all values are taken at once, or none.
  HttpResponse settings(const HttpRequest& request) {
    const gossip::Status& status = snapshot_->status;
    if (request.method != "POST")
      return document(settings_->to_json(status.settings, status.run.round));
    if (!is_json(request.content_type)) return not_json(request);
    const auto changes = changes_of(parse_json(request.body));
    if (!changes) return bad_request(changes.error().text);
    auto command = settings_->command(*changes, status.settings, status.run.round,
                                      parameter(request.query, "at-round"));
    if (!command) return bad_request(command.error().text);
    const auto& certificate = snapshot_->security.certificate;
    if (!command->agreed.empty() && certificate && !may_change_settings(*certificate))
      return error_response(
          403, "no_operator",
          fmt::format(
              "{} is agreed by all nodes, and the certificate of {} is not of the group "
              "operator; ask a node whose is, or invite this one anew with --group=operator",
              command->agreed.front().first, snapshot_->identity.name));
    HttpResponse response = this->command(std::move(*command));
    const auto level = std::ranges::find(*changes, "node.log", &Term::first);
    if (response.status == 202 && level != changes->end())
      log::set_level(settings_->with(std::span(&*level, 1))->log_level);
    return response;
  }

  HttpResponse join(const HttpRequest& request) {
    if (!is_json(request.content_type)) return not_json(request);
    const json body = parse_json(request.body);
    const auto address = body.is_object() ? body.find("address") : body.end();
    if (address == body.end() || !address->is_string())
      return bad_request("expected {\"address\": \"HOST:PORT\"}");
    const auto seed = parse_seed_name(address->get_ref<const std::string&>());
    if (!seed) return bad_request("address: " + seed.error().text);
    return command(gossip::JoinCommand{*seed});
  }

  // Whether the list is news the node itself finds out.
  HttpResponse revoke(const HttpRequest& request) {
    if (!is_json(request.content_type)) return not_json(request);
    const json body = parse_json(request.body);
    const auto text = body.is_object() ? body.find("list") : body.end();
    if (text == body.end() || !text->is_string())
      return bad_request("expected {\"list\": \"starling-revocations-1:…\"}");
    const auto list = read_revocations(text->get_ref<const std::string&>());
    if (!list) return bad_request("list: " + list.error().text);
    const auto& own = snapshot_->security.certificate;
    if (!own || own->cluster != list->cluster)
      return bad_request(
          "list: it is signed by the cluster key " + to_string(list->cluster) +
          (own ? "; that of this node is " + to_string(own->cluster) : "; this node has no keys"));
    return command(gossip::RevokeCommand{{encode(*list)}});
  }

  // Of this node, or with {"fleet": true} of all.
  HttpResponse checkpoint(const HttpRequest& request) {
    gossip::CheckpointCommand what;
    if (!request.body.empty()) {
      if (!is_json(request.content_type)) return not_json(request);
      const json body = parse_json(request.body);
      const bool is_sound =
          body.is_object() && (!body.contains("fleet") || body["fleet"].is_boolean());
      if (!is_sound) return bad_request("expected no body, {} or {\"fleet\": true}");
      what.fleet = body.value("fleet", false);
    }
    if (!snapshot_->status.checkpoint.is_kept)
      return error_response(409, "not_kept",
                            "this node keeps no checkpoints: node.data-dir names no folder");
    return command(what);
  }

  // The end of the run for all: at once, or with {"at_round": N} after that round.
  HttpResponse stop(const HttpRequest& request) {
    gossip::StopCommand what;
    if (!request.body.empty()) {
      if (!is_json(request.content_type)) return not_json(request);
      const json body = parse_json(request.body);
      const bool is_sound =
          body.is_object() && (!body.contains("at_round") || body["at_round"].is_number_unsigned());
      if (!is_sound) return bad_request("expected no body, {} or {\"at_round\": N}");
      what.at_round = std::min(body.value("at_round", std::uint64_t{0}), gossip::kRoundLimit);
    }
    return command(what);
  }

  // A command without arguments.
  template <class What>
  HttpResponse plain_command(const HttpRequest& request) {
    if (request.body.empty()) return command(What{});
    if (!is_json(request.content_type)) return not_json(request);
    if (!parse_json(request.body).is_object()) return bad_request("expected no body, or {}");
    return command(What{});
  }

  HttpResponse command(Command&& command) {
    if (board_->leave_command(std::move(command))) return document(json::object(), 202);
    return error_response(503, "busy",
                          fmt::format("{} commands wait already; try again", kCommandsLimit));
  }

  // The graph of the snapshot's topology, rebuilt when its members change.
  std::shared_ptr<const topology::Graph> graph() {
    const gossip::TopologyStatus& topology = snapshot_->status.topology;
    if (std::exchange(drawn_.sites, topology.sites) != topology.sites) {
      drawn_.graph = topology.graph();
      drawn_.sequence =
          drawn_.graph ? topology::sequence_of(*topology.options, *topology.sites, *drawn_.graph)
                       : nullptr;
    }
    return drawn_.graph;
  }

  std::optional<double> second_modulus() {
    const auto& sites = snapshot_->status.topology.sites;
    if (!sites || sites->size() > SpectrumCache::kVerticesLimit) return std::nullopt;
    return spectrum_.second_modulus(graph());
  }
  std::optional<double> mixing_rate() {
    if (!second_modulus()) return std::nullopt;
    const auto graph = this->graph();
    return spectrum_.mixing_rate(graph, drawn_.sequence.get());
  }

  Board* board_;
  std::shared_ptr<const LiveSettings> settings_;
  ApiOptions options_;
  SpectrumCache spectrum_;
  DocumentCache documents_;
  Drawn drawn_;
  std::shared_ptr<const Snapshot> snapshot_;  // of the request at hand
  Worker worker_;                             // last: its thread ends before the others
};

constexpr std::array<Api::Route, 24> Api::kRoutes = {{
    {"/healthz", "GET", Access::open, false, &Api::health},
    {"/readyz", "GET", Access::open, false, &Api::readiness},
    {"/metrics", "GET", Access::reads, true, &Api::metrics},
    {"/v1/status", "GET", Access::reads, true, &Api::status},
    {"/v1/fleet", "GET", Access::reads, true, &Api::shared<fleet_json>},
    {"/v1/members", "GET", Access::reads, true, &Api::shared<members_json>},
    {"/v1/neighbors", "GET", Access::reads, true, &Api::shared<neighbors_json>},
    {"/v1/topology", "GET", Access::reads, true, &Api::topology},
    {"/v1/convergence", "GET", Access::reads, false, &Api::convergence},
    {"/v1/events", "GET", Access::reads, false, &Api::events},
    {"/v1/model", "GET", Access::reads, true, &Api::model},
    {"/v1/trace", "GET", Access::reads, true, &Api::trace},
    {"/v1/config", "GET", Access::reads, false, &Api::configuration},
    {"/v1/settings", "GET", Access::reads, true, &Api::settings},
    {"/v1/settings", "POST", Access::changes, true, &Api::settings},
    {"/v1/predict", "POST", Access::reads, false, &Api::predict},
    {"/v1/scores", "POST", Access::reads, false, &Api::predict},
    {"/v1/join", "POST", Access::changes, false, &Api::join},
    {"/v1/revocations", "POST", Access::changes, true, &Api::revoke},
    {"/v1/stop", "POST", Access::changes, false, &Api::stop},
    {"/v1/leave", "POST", Access::changes, false, &Api::plain_command<gossip::LeaveCommand>},
    {"/v1/pause", "POST", Access::changes, false, &Api::plain_command<gossip::PauseCommand>},
    {"/v1/checkpoint", "POST", Access::changes, true, &Api::checkpoint},
    {"/v1/resume", "POST", Access::changes, false, &Api::plain_command<gossip::ResumeCommand>},
}};

}  // namespace

Handler make_api(Board& board, std::shared_ptr<const LiveSettings> settings, ApiOptions options) {
  auto api = std::make_shared<Api>(board, std::move(settings), std::move(options));
  return [api = std::move(api)](const HttpRequest& request) { return api->answer(request); };
}

}  // namespace starling::daemon
