#include "daemon/cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/utc.h"
#include "daemon/attach/external_run.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/keys/issue.h"
#include "daemon/cli/terminal/quality.h"
#include "daemon/process/background_reader.h"
#include "daemon/process/board.h"
#include "daemon/process/checkpoint_disk.h"
#include "daemon/process/core_dumps.h"
#include "daemon/process/cores.h"
#include "daemon/process/descriptors.h"
#include "daemon/process/host_names.h"
#include "daemon/process/log.h"
#include "daemon/process/loop.h"
#include "daemon/process/model_file.h"
#include "daemon/process/own_addresses.h"
#include "daemon/process/peer_keeper.h"
#include "daemon/process/safetensors.h"
#include "daemon/process/service_notice.h"
#include "daemon/process/stop_signals.h"
#include "daemon/process/stop_target.h"
#include "daemon/process/whole_file.h"
#include "daemon/rest/api.h"
#include "daemon/rest/http_server.h"
#include "daemon/rest/status_json.h"
#include "daemon/setup/advertised.h"
#include "daemon/setup/config.h"
#include "daemon/setup/credentials.h"
#include "daemon/setup/drawn_names.h"
#include "daemon/setup/expiry.h"
#include "daemon/setup/exposure.h"
#include "daemon/setup/given_ticket.h"
#include "daemon/setup/goal_words.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/key_options.h"
#include "daemon/setup/setting_sources.h"
#include "daemon/setup/sites.h"
#include "daemon/setup/table_recipe.h"
#include "daemon/setup/token_file.h"
#include "daemon/setup/trust_files.h"
#include "models/data/load.h"
#include "models/data/subset.h"
#include "models/factory.h"

namespace starling::daemon {
namespace {

// Before the loop runs no member knows this node, so it need not leave.
void on_signal(int) {
  if (!stop_target().stop()) ::_exit(kExitDone);
}

// Above that of every earlier start of the node, as long as the clock of the machine goes forward;
// with a folder to keep it in, also when it does not.
std::uint64_t clock_incarnation() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
}

// The address of a host name, as seen from this machine.
Result<Endpoint> resolve_key(std::string_view key, const Endpoint& endpoint) {
  const auto address = resolve(endpoint);
  if (!address)
    return fail("{} = \"{}\": {}; expected an address of this machine, or a name of it", key,
                to_string(endpoint), address.error().text);
  return *address;
}

// The parts of a running node, in the order of creation.
struct Daemon {
  ServiceNotice service;
  std::optional<DiskState> state;  // until `peers` has it; nothing: nothing outlives the process
  std::unique_ptr<ZmqTransport> transport;
  Board board;
  std::unique_ptr<ExternalRun> external;  // null: the model is one of this program
  std::unique_ptr<TrainingThread> training;
  std::unique_ptr<PeerKeeper> peers;
  std::unique_ptr<CheckpointDisk> disk;              // null: nothing outlives the process
  std::shared_ptr<const gossip::Checkpoint> before;  // to go on from; null: there is none
  std::unique_ptr<HttpServer> http;
  Identity identity;
};

// A node that goes on from a checkpoint waits for those that trained with it then.
Result<void> find_checkpoint(Daemon& daemon, Config& config) {
  const std::string path = config.data_dir + "/checkpoints";
  auto disk = CheckpointDisk::open(path, config.checkpoint_keep);
  if (!disk) return fail("node.data-dir = \"{}\": {}", config.data_dir, disk.error().text);
  daemon.disk = *std::move(disk);
  config.node.checkpoint = {config.checkpoint_rounds, config.checkpoint_every, true};
  if (config.resumes) daemon.before = daemon.disk->load();
  if (!daemon.before) return {};
  config.node.expect = std::max(config.node.expect, daemon.before->members);
  if (daemon.before->sealed == 0) return {};
  log::warning("{}", words_of_ended_run(*daemon.before, config.node.goal));
  if (has_trained_all(*daemon.before, config.node.goal))
    config.node.expect_patience = kEndedPatience, config.node.alone = gossip::Alone::train;
  return {};
}

// What the command line gives beside the settings.
struct GivenKeys {
  const Ticket* ticket = nullptr;        // null: none
  const CommandLine* signing = nullptr;  // has --cluster-key; null: none
};

// The name that the user gives, the certificate has, or an earlier life had.
Outcome<void> name_node(Daemon& daemon, Config& config, const Endpoint& control) {
  if (!config.data_dir.empty()) {
    TRY(daemon.state, DiskState::open(config.data_dir));
  }
  if (!config.node.name.empty()) return {};
  TRY(const auto certificate, kept_certificate(config.data_dir));
  config.node.name = certificate ? certificate->name : draw_node_name(control);
  if (daemon.state && !certificate) config.node.name = daemon.state->keep_name(config.node.name);
  return {};
}

// The keys by which the others know this node.
Result<void> take_keys(Config& config, const GivenKeys& given) {
  CredentialSources sources{.name = config.node.name,
                            .folder = config.data_dir,
                            .ticket = given.ticket,
                            .authorized_keys = config.authorized_keys,
                            .now = wall_clock()};
  if (given.signing)
    sources.sign = [&](const PublicKey& key) {
      // Who has the cluster key here may change everything.
      return issue(*given.signing, config.node.name, key, "operator");
    };
  TRY(config.node.credentials, find_credentials(sources));
  if (!config.node.credentials) return {};
  leave_memory_out_of_core_dumps();
  const gossip::Certificate& certificate = config.node.credentials->certificate;
  log::info("key {}, certificate until {}", to_string(certificate.key),
            utc_text(certificate.not_after));
  return {};
}

// Restores from earlier lives the incarnation and the peers to ask first.
Result<void> remember(Daemon& daemon, Config& config) {
  config.node.clock = config.node.incarnation = clock_incarnation();
  if (!daemon.state) return {};
  DiskState state = *std::exchange(daemon.state, std::nullopt);
  if (config.is_hidden) config.node.control.host = state.keep_mark(config.node.control.host);
  TRY(config.node.incarnation, state.next_incarnation(config.node.incarnation));
  for (const std::string& warning : state.warnings()) log::warning("{}", warning);
  std::ranges::copy(state.peers(), std::back_inserter(config.node.peers));
  daemon.peers = std::make_unique<PeerKeeper>(std::move(state), daemon.board);
  return find_checkpoint(daemon, config);
}

// Whether a trainer of the user's own learns at this node.
bool is_external(const Config& config) {
  return !is_relay(config.node) && config.learner.model.kind == models::ModelKind::external;
}

// If no host is named: the one at which the node listens, or one by which it can be reached.
Result<std::string> advertised_host(const Endpoint& control, const Config& config) {
  if (!config.advertise.host.empty()) return config.advertise.host;
  if (!is_wildcard(control)) return control.host;
  const DnsOptions names{.server = config.name_server};
  TRY(const Reachable found,
      reachable_host(control, own_addresses(), config.node.seeds,
                     [&](const SeedName& seed) { return source_towards(seed, names); }));
  log::info("listens everywhere; others reach this node at {}, {}", found.host, found.reason);
  return found.host;
}

// Sets the addresses by which others reach this node.
Result<void> name_addresses(const Daemon& daemon, Config& config) {
  const Endpoint control = daemon.transport->endpoint();
  // Where it listens, and nowhere else.
  config.node.http = daemon.http->endpoint();
  if (!is_wildcard(control)) config.node.aliases = {control};
  for (const std::string& own : own_address_texts())
    if (is_wildcard(control)) config.node.aliases.push_back({own, control.port});
  if (config.is_hidden) {
    config.node.control = {draw_mark(), 0};
    log::info("nobody can dial this node; it dials the others");
    return {};
  }
  TRY(const std::string host, advertised_host(control, config));
  config.node.control = {host, config.advertise.port > 0 ? config.advertise.port : control.port};
  config.address_doubt = loopback_doubt(config.advertise, resolve_all);
  // A name may mean nothing to others, or another machine.
  config.node.tests_address = !is_loopback(config.node.control) &&
                              (config.advertise.host.empty() || !is_numeric(config.node.control));
  if (is_wildcard(config.node.http)) config.node.http.host = host;
  return {};
}

SpectrumCache::Rounds rounds_of(const gossip::Options& node) {
  return {.are_free = node.schedule->is_pairwise, .share = node.needs.mixing_share};
}

Outcome<void> open(Daemon& daemon, Config& config, const GivenKeys& keys,
                   const Settings& settings) {
  TRY(const Endpoint control, resolve_key("listen.control", config.listen_control));
  TRY(const Endpoint own_http, resolve_key("listen.http", config.listen_http));
  TRY_DO(name_node(daemon, config, control));
  TRY_DO(take_keys(config, keys));
  TRY_DO(check_exposure(config, control));
  TRY_DO(make_masks(config));
  TRY(const DescriptorShares shares, share_out(descriptors_allowed()));
  TRY(daemon.transport, ZmqTransport::bind({.self = node_id(config.node.name),
                                            .listen = control,
                                            .shares = shares,
                                            .credentials = config.node.credentials}));
  TRY(auto token, read_http_token(config.token_file));
  ApiOptions api;
  api.token = token;
  api.guard_reads = !is_loopback(config.listen_http);
  api.precision = config.learner.model.precision;
  api.rounds = rounds_of(config.node);
  const auto live = std::make_shared<const LiveSettings>(settings, config);
  config.node.reconfigure = reconfigure_by(live);
  Handler handler = make_api(daemon.board, live, api);
  HttpOptions http;
  http.connections_limit = std::max<std::size_t>(shares.http, 1);
  http.hosts = config.allowed_hosts;
  http.hosts.push_back(config.listen_http.host);
  if (!config.advertise.host.empty()) http.hosts.push_back(config.advertise.host);
  TRY(daemon.http, HttpServer::start(own_http, std::move(handler), http));
  TRY_DO(name_addresses(daemon, config));
  TRY_DO(remember(daemon, config));
  daemon.identity = {node_id(config.node.name), config.node.name, config.node.incarnation,
                     config.is_hidden ? daemon.transport->endpoint() : config.node.control,
                     config.node.http};
  // A loopback address is of this machine only: others do not get it.
  const bool is_of_machine = is_loopback(config.node.http) && !is_loopback(config.node.control);
  if (is_of_machine || config.is_hidden) config.node.http.port = 0;
  if (is_external(config)) {
    TRY(daemon.external, ExternalRun::open(config, config.node.name));
  }
  return {};
}

constexpr TrainingThread::Options kBuiltIn{.may_block = false}, kAttached{.may_block = true};

// The node begins once its trainer is there.
Result<void> await_external(Daemon& daemon, const Config& config) {
  daemon.board.set_describer([](const std::string&) -> Result<models::ModelCard> {
    return fail("model.kind = external: only the trainer knows how to predict with the model");
  });
  TRY(auto trainer, daemon.external->await(config, config.node.name, [] { stop_target().stop(); }));
  daemon.external->rest_without_trainer(daemon.board);
  daemon.training = std::make_unique<TrainingThread>(std::move(trainer), kAttached);
  return {};
}

Result<void> load_trainer(Daemon& daemon, const Config& config) {
  if (has_sites(config.learner.data))
    return fail("data.path = \"{}\": only starling up numbers its nodes; name the file of this one",
                config.learner.data.path);
  TRY(auto loaded, models::load(config.learner.data));
  TRY_DO(validate_goal(config, loaded));
  loaded.reader = make_reader(config.learner.data, loaded);
  auto data = std::make_shared<const models::Data>(std::move(loaded));
  models::LearnerOptions keyed = config.learner;
  if (keyed.optim.clip > 0) keyed.optim.noise_key = std::make_shared<const Secret>(random_key());
  TRY(auto trainer, models::make_trainer(keyed, data, config.node.name, now));
  // Of columns the rows are needed too: what features mean stays at the site.
  const bool is_cut = config.learner.data.split == models::Split::columns;
  models::Dataset described = is_cut ? data->train : models::subset(data->train, {});
  const auto describe = [learner = config.learner,
                         train = std::move(described)](const std::string& foundation) {
    const std::vector<std::string> surveys(foundation.empty() ? 0 : 1, foundation);
    return models::make_card(learner.model, learner.data, train, surveys);
  };
  daemon.board.set_describer(describe);
  log::info("{}", data->description);
  for (const std::string& note : data->notes) log::info("{}", note);
  if (const std::string kind = models::explain_kind(config.learner, data->train); !kind.empty())
    log::info("{}", kind);
  if (!config.algorithm_reason.empty())
    log::info("algorithm {}: {}", config.node.algorithm, config.algorithm_reason);
  daemon.training = std::make_unique<TrainingThread>(std::move(trainer), kBuiltIn);
  return {};
}

// A relay takes the shape of the others' model, whatever that is.
void make_relay(Daemon& daemon, const Config& config) {
  daemon.board.set_describer([](const std::string&) -> Result<models::ModelCard> {
    return fail(
        "node.role = relay: a relay does not know what the parameters mean; ask a node with data");
  });
  daemon.training =
      std::make_unique<TrainingThread>(models::make_relay(config.learner, now), kBuiltIn);
  log::info("a relay: it has no data, and averages with its neighbours");
}

// Writes where the node can be reached, for the process that started it.
void announce(const Identity& identity, const gossip::Credentials* credentials,
              const std::optional<std::string>& path) {
  log::info("{}: {}, http://{}", identity.name, to_string(identity.control),
            to_string(identity.http));
  if (!path) return;
  nlohmann::json addresses = {{"name", identity.name},
                              {"control", to_string(identity.control)},
                              {"http", to_string(identity.http)}};
  if (credentials) addresses["key"] = to_string(credentials->certificate.key);
  std::ofstream(*path) << addresses.dump() << std::endl;
}

// What is said while the node runs, beside what it says itself.
std::function<std::vector<std::string>()> warnings_for(const Config& config) {
  return [known = doubts(config, schema()), credentials = config.node.credentials] {
    std::vector<std::string> all = known;
    if (!credentials) return all;
    if (auto text = expiry_warning(credentials->certificate, wall_clock()))
      all.push_back(*std::move(text));
    return all;
  };
}

std::string run_loop(Daemon& daemon, const Config& config) {
  gossip::Node node(config.node, now(), std::exchange(daemon.before, nullptr));
  LoopOptions options{.identity = daemon.identity,
                      .warnings = warnings_for(config),
                      .service = &daemon.service,
                      .disk = daemon.disk.get(),
                      .names = HostNames(DnsOptions{.server = config.name_server}),
                      .seeds = config.node.seeds};
  if (!config.data_dir.empty())
    options.keep_revocations = [path = config.data_dir + "/revocations"](const auto& list) {
      if (const auto kept = save_revocations(path, list); !kept)
        log::warning("{}", kept.error().text);
    };
  if (daemon.external)
    options.end_steps = [external = daemon.external.get()] { external->interrupt(); };
  if (daemon.external)
    options.trainer = [external = daemon.external.get()] { return external->status(); };
  Loop loop(std::move(options), node, *daemon.transport, *daemon.training, daemon.board);
  stop_target().set(&loop);
  std::string error = loop.run(config.stays);
  stop_target().set(nullptr);
  if (!daemon.external) return error;
  daemon.external->interrupt();
  daemon.external->tell_end(daemon.board.read()->status.run, config.node.goal);
  return error.empty() ? daemon.external->failure() : error;
}

// The model as the node leaves it.
Result<void> keep_model(Daemon& daemon, const Config& config, const std::string& path,
                        const std::vector<double>& parameters) {
  if (parameters.empty()) return fail("there is no model yet");
  const std::shared_ptr<const Snapshot> last = daemon.board.read();
  const std::uint64_t round = last->status.run.round;
  const gossip::EndStatus& end = last->status.run.end;
  const models::Precision precision = config.learner.model.precision;
  const std::map<std::string, std::string> origin = {
      {"node", daemon.identity.name},
      {"round", std::to_string(round)},
      {"model", fmt::format("{:016x}", end.model.hash)}};
  std::string bytes;
  if (daemon.external) {
    bytes = daemon.external->status().write_model(parameters, origin);
  } else {
    TRY(const models::ModelCard card, daemon.board.card());
    bytes = write_model(card, parameters, precision, origin);
  }
  TRY_DO(replace_file(path, bytes));
  log::info("wrote the model to {}", path);
  if (end.model.hash == 0 && last->status.members.size() > 1)
    log::warning("{}", words_of_own_model(path));
  return {};
}

// The exit code, or the complaint of a run that did not end as it was meant to.
Outcome<int> judge(Daemon& daemon, const Config& config, bool has_output) {
  const std::shared_ptr<const Snapshot> last = daemon.board.read();
  const gossip::EndStatus& end = last->status.run.end;
  if (end.model.hash != 0)
    log::info("the run ended with one model, {}: {}", to_text(end.model), end.reason);
  log_quality(daemon.identity.name, last->status.run);
  if (const std::string& shortfall = end.shortfall; !shortfall.empty())
    return complaint(end.is_left_behind ? kExitLeftBehind : kExitGoalNotReached,
                     "goal not reached: {}", shortfall);
  const std::string& unsaved = last->status.checkpoint.problem;
  if (!unsaved.empty() && !has_output && daemon.disk && daemon.disk->is_empty())
    return complaint(kExitFailed, "node.data-dir = \"{}\": nothing of this run is kept there: {}",
                     config.data_dir, unsaved);
  // A node that a person ends has no result to be judged.
  const bool is_judged = config.node.goal.is_set() && (end.round || last->trainer);
  if (const std::string fault = fault_of(*last); !fault.empty() && is_judged)
    return complaint(kExitGoalNotReached, "goal not reached by {}: {}", config.node.name, fault);
  return kExitDone;
}

// The work after the node has ended. Returns the exit code.
Outcome<int> conclude(Daemon& daemon, const Config& config, const CommandLine& line) {
  const auto output = line.value("output");
  const std::vector<double> parameters =
      output || daemon.external ? daemon.training->finish() : std::vector<double>();
  if (daemon.external) daemon.external->end(parameters, daemon.board.read()->status.run.end.reason);
  if (output)
    if (const auto kept = keep_model(daemon, config, *output, parameters); !kept)
      return complaint(kExitFailed, "--output: {}", kept.error().text);
  const std::shared_ptr<const Snapshot> last = daemon.board.read();
  const std::string status = to_text(status_json(*last, std::nullopt));
  if (line.has("json")) fmt::print("{}\n", status);
  if (const auto path = line.value("status-file")) TRY_DO(replace_file(*path, status));
  return judge(daemon, config, output.has_value());
}

Outcome<int> run_node(const CommandLine& given) {
  handle_stop_signals(on_signal);
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  CommandLine line = given;
  TRY(const std::optional<Ticket> ticket, given_ticket(line));
  name_keys(line);
  std::vector<std::string> mistakes;
  Settings settings = gather_settings(schema(), line.value("config"), line.keys, mistakes);
  if (ticket) TRY_DO(apply(*ticket, settings));
  const Recipe recipe = table_recipe(settings);
  apply_recipe(recipe, settings);
  TRY(Config config, read_config(settings, std::move(mistakes)));

  log::set_up(config.log_level, config.node.name.empty() ? "starling" : config.node.name);
  if (is_external(config)) share_cores(1);
  Daemon daemon;
  const GivenKeys keys{ticket ? &*ticket : nullptr, line.has("cluster-key") ? &line : nullptr};
  TRY_DO(open(daemon, config, keys, settings));
  daemon.service.prepares(is_external(config) ? "waits for its trainer" : "reads its data");
  if (is_relay(config.node))
    make_relay(daemon, config);
  else if (!is_external(config))
    TRY_DO(load_trainer(daemon, config));
  if (!recipe.empty()) log::info("not set, and chosen for a table: {}", recipe_text(recipe));
  for (const std::string& text : warnings_for(config)()) log::warning("{}", text);
  if (!config.node.goal.is_set()) log::info("{}", words_without_goal("trains"));
  announce(daemon.identity, config.node.credentials.get(), line.value("ready-file"));
  if (daemon.external)
    if (const auto came = await_external(daemon, config); !came)
      return complaint(kExitFailed, "{}", came.error().text);
  if (const std::string error = run_loop(daemon, config); !error.empty())
    return complaint(kExitFailed, "{}", error);
  return conclude(daemon, config, line);
}

constexpr auto kRunOptions = join(
    kConfiguring,
    {{"join", "HOST:PORT",
      "the control address of any member; may be given several times; dns:NAME:PORT asks all "
      "addresses that the name servers know of NAME, dns:_SERVICE._tcp.NAME the hosts and ports of "
      "its SRV records; a TICKET of starling invite has the addresses and the keys"},
     {"ticket-file", "FILE", "the ticket, in a file that only you can read"},
     {"cluster-key", "FILE",
      "sign this node's certificate with the secret key of the cluster, which is then on this "
      "machine"},
     {"output", "FILE", "write the model there at the end"},
     {"from", "MODEL", "start from the file of a model, the same on every node"},
     {"trainer", "COMMAND", "what trains a model of your own, which the daemon starts"},
     {"ready-file", "FILE", "gets the node's addresses as JSON once it listens"},
     {"status-file", "FILE", "gets the final status as JSON"},
     {"json", "", "print the final status as one JSON document"}});

}  // namespace

constinit const ProgramCommand kRun = {
    .name = "run",
    .summary = "one node in the foreground",
    .usage = "starling run [-c FILE] [--SECTION.KEY=VALUE ...] [--join HOST:PORT|TICKET ...]",
    .description = R"(Runs one node until its goal is reached, Ctrl-C or SIGTERM; it takes leave of
the others first. Without any configuration it trains the built-in data alone.)",
    .options = kRunOptions,
    .notes = R"(Two nodes on one machine, each in a terminal of its own:

  starling run --node.name=a
  starling run --node.name=b --listen.control=127.0.0.1:7610 --listen.http=127.0.0.1:7690 \
      --join 127.0.0.1:7600)",
    .exits = R"(0 done, 1 failed while running, or a port or folder is in use, 2 wrong usage or
configuration, 3 goal not reached, 5 the others ended while this node was away, and are gone.)",
    .settings = "*",
    .run = run_node};

}  // namespace starling::daemon
