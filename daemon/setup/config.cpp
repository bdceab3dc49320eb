#include "daemon/setup/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/bindings.h"
#include "base/masks.h"
#include "base/node_name.h"
#include "base/text.h"
#include "base/utf8.h"
#include "daemon/process/model_file.h"
#include "daemon/setup/algorithm_choice.h"
#include "daemon/setup/edge_list.h"
#include "daemon/setup/legality.h"
#include "daemon/setup/setting_sources.h"
#include "gossip/wire/message.h"
#include "optim/options.h"
#include "topology/build.h"
#include "topology/sequence.h"

namespace starling::daemon {
namespace {

using namespace std::string_view_literals;

constexpr std::array kRoles = {"trainer"sv, "relay"sv};  // of gossip::Role
constexpr std::array kLogLevels = {"debug"sv, "info"sv, "warning"sv, "error"sv, "off"sv};

// A missing one keeps the present value.
struct Address {
  void read(Reader& reader, std::string_view name, Endpoint& value) const {
    if (reader.text(name).empty()) return;
    if (auto endpoint = parse_endpoint(reader.text(name)))
      value = *endpoint;
    else
      reader.mistake(name, endpoint.error().text);
  }
  std::string print(const Endpoint& value) const { return to_string(value); }
};

constexpr std::string_view kNotDialled = "none";  // as listen.advertise

// HOST or HOST:PORT.
Result<Endpoint> parse_advertised(const std::string& text) {
  if (const auto host = parse_host(text)) return Endpoint{*host, 0};
  auto at = parse_endpoint(text);
  if (!at || at->port == 0)
    return fail(
        "expected a host, such as 10.0.0.1, or HOST:PORT where the port outside is another than "
        "that of listen.control");
  return *std::move(at);
}

// The address by which others reach this node.
void read_advertise(Reader& reader, Config& config) {
  const std::string& text = reader.text("listen.advertise");
  if (text.empty()) return;
  config.is_hidden = text == kNotDialled;
  if (config.is_hidden) return;
  const auto at = parse_advertised(text);
  if (!at)
    reader.mistake("listen.advertise", at.error().text);
  else if (is_wildcard(*at))
    reader.mistake("listen.advertise",
                   "is no address that others could reach; expected a host, "
                   "such as 10.0.0.1");
  else if (at->host.find('%') != std::string::npos)
    reader.mistake("listen.advertise",
                   "holds the name of an interface, which means nothing on "
                   "other machines; expected a host, such as 10.0.0.1");
  else
    config.advertise = *at;
}

// An address, because a name server cannot be asked for its own name.
void read_name_server(Reader& reader, Config& config) {
  const std::string& text = reader.text("cluster.name-server");
  if (text.empty()) return;
  const auto server = parse_endpoint(text);
  const bool is_v4 = server && is_numeric(*server) && server->host.find(':') == std::string::npos;
  if (is_v4 && server->port > 0)
    config.name_server = *server;
  else
    reader.mistake("cluster.name-server",
                   "expected an address of IPv4 and a port, such as 127.0.0.1:53");
}

void bind_node(Bindings<Config>& all) {
  using enum Scope;
  all.bind("node.name", at(&Config::node, &gossip::Options::name), Text{}, own,
           "how others know this node, unique; default: host name, port and four letters drawn "
           "by chance, which are kept in node.data-dir where there is one")
      .bind("node.role", at(&Config::node, &gossip::Options::role), OneOf{kRoles}, own,
            "trainer: learns from its data; relay: has no data and reads no data.*; it averages "
            "with its neighbours as others do, so that nodes that nobody can dial meet there")
      .bind("node.group", at(&Config::node, &gossip::Options::group), Text{}, own,
            "site of this node, such as a building: topology.sequence=clusters:K averages often "
            "inside a group and rarely between groups; empty: a group of its own")
      .bind(
          "node.seed", [](auto& config) -> auto& { return config.learner.optim.seed; },
          Whole{0, INT64_MAX}, own,
          "of all chance in training: the initial parameters, equal on every node, and the "
          "order of samples, different on each")
      .bind("node.data-dir", &Config::data_dir, Text{}, own,
            "folder, of this node alone, where it keeps its incarnation and the addresses of the "
            "members it met, to find them again without cluster.join; default: nothing is kept")
      .bind("node.log", &Config::log_level, OneOf{kLogLevels}, own,
            "least level that is printed: debug, info, warning, error, off")
      .live();
}

void bind_addresses(Bindings<Config>& all) {
  using enum Scope;
  all.bind("listen.control", &Config::listen_control, Address{}, own,
           "HOST:PORT for other nodes, an address of this machine or a name of it; port 0 takes a "
           "free one")
      .bind("listen.http", &Config::listen_http, Address{}, own,
            "HOST:PORT of the REST interface; other than loopback needs http.token-file")
      .add({"listen.advertise", "",
            "host by which other nodes reach this one: an address, or a name that they look up; "
            "HOST:PORT where the port outside is another, as behind docker -p 10000:7600; default: "
            "that of listen.control, and where that is 0.0.0.0 or [::] the "
            "machine's own address, if it has one, or else the one that leads to a seed of "
            "cluster.join. a name is tested, and an address that is not named here: members dial "
            "it. none: nobody can dial this node, as behind a NAT; it dials the others"},
           read_advertise)
      .bind("http.token-file", &Config::token_file, Text{}, own,
            "file of mode 0600 with the bearer token that changing requests must carry")
      .bind("http.allowed-hosts", &Config::allowed_hosts, Text{}, own,
            "host names, without a port, by which clients and proxies may ask the REST interface "
            "beside localhost and addresses; separated by commas");
}

// A duration, or "500 rounds".
Result<void> read_interval(const std::string& text, Config& config) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit(trim(std::string_view(text).substr(digits)));
  const bool is_count = unit == "rounds" || unit == "round";
  const auto number = is_count ? parse_number(text.substr(0, digits)) : parse_seconds(text);
  if (!number || *number < 0 || *number > 1e9)
    return fail(
        "\"{}\"; expected a duration or rounds, such as 60, 500ms, 10m, 1h or 500 rounds; 0: only "
        "when asked for, in a pause and at the end",
        text);
  config.checkpoint_rounds = is_count ? static_cast<std::uint64_t>(*number) : 0;
  config.checkpoint_every = is_count ? Duration{} : from_seconds(*number);
  return {};
}

void bind_checkpoint(Bindings<Config>& all) {
  using enum Scope;
  all.add({"checkpoint.every", "60s",
           "time or rounds between two checkpoints in node.data-dir, such as 60s or 500 rounds; 0: "
           "only when asked for, in a pause and at the end; larger: kill -9 loses more; smaller: "
           "more copies of the state, one of which takes as long as reading it once"},
          [](Reader& reader, Config& config) {
            if (const auto read = read_interval(reader.text("checkpoint.every"), config); !read)
              reader.mistake("checkpoint.every", read.error().text);
          })
      .live()
      .bind("checkpoint.keep", &Config::checkpoint_keep, Whole{1, 1000}, own,
            "checkpoints that stay on the disk; more bear more damaged ones and take more room")
      .bind("checkpoint.resume", &Config::resumes, kFlag, own,
            "go on from the newest checkpoint in node.data-dir; no: begin afresh, and write behind "
            "those that are there");
}

void bind_trainer(Bindings<Config>& all) {
  using enum Scope;
  all.bind("trainer.command", &Config::trainer_command, Text{}, own,
           "with model.kind = external, the command that trains, such as \"python3 train.py\"; the "
           "daemon starts it, and starts it again when it fails; default: it attaches by itself")
      .bind("trainer.socket", &Config::trainer_socket, Text{}, own,
            "path of the socket at which the trainer attaches; default: trainer.sock in "
            "node.data-dir, else NAME.sock in $XDG_RUNTIME_DIR/starling or /tmp/starling-UID")
      .bind("trainer.save-every", &Config::trainer_save_every, Real{0, 86'400}, own,
            "seconds between two times that the trainer saves what it wants to find again, such as "
            "the moments of its optimizer; 0: never; larger: one that comes back finds older "
            "ones; smaller: more time goes into saving, at most a fiftieth")
      .bind("trainer.share-state", &Config::trainer_shares_state, kFlag, own,
            "give newcomers what the trainer saved beside the parameters: moments that fit, for "
            "two to three times the bytes");
}

void bind_security(Bindings<Config>& all) {
  using enum Scope;
  all.bind("security.insecure", &Config::is_insecure, kFlag, own,
           "let a node without keys listen beyond loopback: everybody who reaches its ports can "
           "read what it sends and change what it learns")
      .bind("security.authorized-keys", &Config::authorized_keys, Text{}, own,
            "file with a line NAME KEY for each node, in place of a cluster key; needs "
            "node.data-dir, where the node keeps its own key");
}

void bind_names(Bindings<Config>& all) {
  all.add({"cluster.name-server", "",
           "ADDRESS:PORT, of IPv4, of the name server that is asked for the names in the DNS of "
           "cluster.join; default: those of /etc/resolv.conf"},
          read_name_server);
}

const Bindings<Config>& bindings() {
  static const auto kBindings = [] {
    Bindings<Config> all;
    bind_node(all);
    bind_addresses(all);
    bind_checkpoint(all);
    bind_trainer(all);
    bind_names(all);
    bind_security(all);
    return all;
  }();
  return kBindings;
}

// Checks of several keys, and checks that forms do not do.
void check_addresses(const Config& config, Reader& reader) {
  for (const std::string& host : config.allowed_hosts)
    if (!is_host(host))
      reader.mistake("http.allowed-hosts",
                     "expected host names without a port, such as node.example");
  if (!is_loopback(config.listen_http) && config.token_file.empty())
    reader.mistake("listen.http", "others can reach it; http.token-file must name a token");
}

// A relay reads no file of data, and need not name one.
Settings for_role(Settings settings) {
  if (settings.at("node.role").value == "relay" && settings.is_default("data.path"))
    settings.set("data.path", "none", "node.role");
  return settings;
}

Config read_values(Reader& reader) {
  Config config;
  config.node = gossip::read_options(reader);
  config.learner = models::read_learner_options(reader);
  bindings().read(reader, config);
  return config;
}

// What follows from the values, and whether they go together.
void derive(Config& config, Reader& reader) {
  config.node.seed = config.learner.optim.seed;
  if (config.node.schedule->is_in_slices) {
    config.learner.optim.aggregation.slicing.is_on = true;
    topology::Kind& kind = config.node.topology.kind;
    if (kind == topology::Kind::automatic) kind = topology::Kind::complete;
  }
  const optim::AlgorithmRow*& algorithm = config.learner.optim.algorithm;
  if (!algorithm) {
    AlgorithmChoice choice = choose_algorithm(config.node, config.learner, reader);
    algorithm = choice.algorithm;
    config.algorithm_reason = std::move(choice.reason);
  } else {
    config.advice = advise(config.node, config.learner, reader);
  }
  config.node.algorithm = optim::full_name(config.learner.optim);
  config.node.codec = to_string(config.learner.optim.codec);
  config.node.needs = needs_of(config.learner.optim);
  config.node.training_form = form_of(config.learner.optim);
  config.node.local_steps = config.learner.optim.local_steps;
  config.node.refits = config.learner.data.refits;
  config.node.checkpoint.rounds = config.checkpoint_rounds;
  config.node.checkpoint.every = config.checkpoint_every;
  config.node.encodings = encodings_of(config.learner.optim);
  if (config.node.needs.is_pairwise && reader.is_default("exchange.schedule"))
    config.node.schedule = gossip::schedule_named("pairwise");
  config.stays = reader.flag("stop.stay");
  check_addresses(config, reader);
  if (config.is_insecure && config.learner.optim.aggregation.slicing.is_masked)
    reader.mistake("exchange.masks",
                   "members mask by their keys, and with security.insecure = true they have "
                   "none; use false, or give the nodes keys");
  check_legality(config.node, config.learner.optim, reader);
  if (config.node.role != gossip::Role::relay)
    check_privacy(config.node.goal, config.learner, reader);
  check_split(config.learner, reader);
  if (config.node.refits) check_refit(config.node, config.learner, reader);
  if (config.node.name.size() > 64) reader.mistake("node.name", "has more than 64 bytes");
  if (!is_node_name(config.node.name))
    reader.mistake("node.name", fmt::format("expected {}", kNodeNameLaw));
  const std::string& group = config.node.group;
  if (!group.empty() && (group.size() > 64 || !is_node_name(group)))
    reader.mistake("node.group", fmt::format("expected {} with up to 64 bytes", kNodeNameLaw));
}

}  // namespace

const Schema& schema() {
  static const Schema kSchema = [] {
    Schema schema;
    bindings().describe(schema);
    gossip::describe(schema);
    topology::describe(schema);
    models::describe_learner(schema);
    schema.add(
        {"stop.stay",
         "false",
         "keep serving after the end of the run, also for nodes that come back late, instead "
         "of leaving once every present node has the model",
         false,
         Scope::own,
         {"false", "true"}});
    return schema;
  }();
  return kSchema;
}

Result<Config> read_config(const Settings& given, std::vector<std::string> mistakes) {
  const Settings settings = for_role(given);
  Reader reader(settings, std::move(mistakes));
  Config config = read_values(reader);
  if (const std::string& from = config.learner.model.from; !from.empty()) {
    if (auto start = read_model(from))
      config.learner.model.start = std::make_shared<const models::TrainedModel>(*std::move(start));
    else
      reader.mistake("model.from", start.error().text);
  }
  const Result<void> loaded = load_edges(config.node.topology);
  derive(config, reader);
  TRY_DO(reader.verdict());
  TRY_DO(loaded);
  config.node.terms = models::agreed(config.learner);
  config.learner.data.site = config.node.name;
  return config;
}

Result<Config> read_again(Settings settings, const Config& before) {
  settings = for_role(std::move(settings));
  Reader reader(settings);
  Config config = read_values(reader);
  config.learner.model.start = before.learner.model.start;
  if (config.node.topology.kind == before.node.topology.kind) {
    config.node.topology.edges = before.node.topology.edges;
    config.node.topology.arcs = before.node.topology.arcs;
  }
  derive(config, reader);
  TRY_DO(reader.verdict());
  return config;
}

Result<void> validate_cluster(const Config& config, std::size_t nodes) {
  const models::DataOptions& data = config.learner.data;
  const std::size_t problems = data.reference.n;
  if (data.source == models::Source::reference && deals_fixed_parts(config) && nodes > problems)
    return fail(
        "{} nodes: data.reference.n = {} makes {} problems, one a node; expected at most {} nodes, "
        "or data.reference.n = {}",
        nodes, problems, problems, problems, nodes);
  if (config.learner.optim.aggregation.slicing.is_masked && nodes < MaskGroup::kLeast)
    return fail(
        "exchange.masks = true: the mean of {} nodes shows each what the other has; expected {} "
        "nodes or more, or false",
        nodes, MaskGroup::kLeast);
  std::vector<topology::Site> sites;
  for (std::size_t k = 0; k < nodes; ++k) {
    const std::string name = fmt::format("node-{}", k);
    sites.push_back({node_id(name), name});
  }
  return topology::validate(config.node.topology, sites);
}

Result<void> validate_goal(const Config& config, const models::Data& data) {
  // Of columns another site may know the target.
  const bool is_elsewhere =
      config.learner.data.split == models::Split::columns && !data.train.has_truth();
  if (!config.node.goal.accuracy || data.train.classes > 0 || is_elsewhere) return {};
  return fail(
      "stop.accuracy = {}: targets that are numbers have no accuracy; expected stop.loss, "
      "stop.rounds or stop.seconds",
      *config.node.goal.accuracy);
}

std::vector<std::string> doubts(const Config& config, const Schema& schema) {
  std::vector<std::string> texts = unknown_variables(schema, environment_variables());
  for (const std::string& doubt : {config.advice, config.address_doubt})
    if (!doubt.empty()) texts.push_back(doubt);
  if (config.is_insecure)
    texts.emplace_back(
        "security.insecure = true: connections are neither encrypted nor authenticated, and "
        "everybody who reaches this node can change its model");
  if (config.is_hidden && config.node.seeds.empty() && config.data_dir.empty())
    texts.emplace_back(
        "listen.advertise = \"none\": nobody can dial this node, and without cluster.join it dials "
        "nobody");
  const optim::Options& optim = config.learner.optim;
  const topology::SequenceChoice& sequence = config.node.topology.sequence;
  if (optim.codec.coding.parts > 1 && sequence.moves() && sequence.row->bounds_parts &&
      optim.algorithm == optim::algorithm_named("gt"))
    texts.push_back(fmt::format(
        "optim.algorithm = gt with exchange.parts = {} diverges with topology.sequence = {} unless "
        "the learning rate is small, about the spectral gap of the graph (starling plan tells it); "
        "ed "
        "and admm allow larger ones",
        optim.codec.coding.parts, topology::to_string(sequence)));
  return texts;
}

bool deals_fixed_parts(const Config& config) {
  const models::DataOptions& data = config.learner.data;
  return data.shard.kind == models::ShardChoice::Kind::automatic &&
         (data.partition.kind != models::Partition::Kind::iid ||
          data.source == models::Source::reference);
}

std::string config_json(const Settings& settings) {
  nlohmann::ordered_json document;
  for (const Key& key : settings.schema().keys()) {
    const Setting& setting = settings.at(key.name);
    document[key.name] = {{"value", setting.value},
                          {"origin", setting.origin},
                          {"scope", name(key.scope)},
                          {"live", key.is_live}};
  }
  // Paths may be other bytes than UTF-8.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace starling::daemon
