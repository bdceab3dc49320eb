#include "daemon/cli/config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/bindings.h"
#include "daemon/cli/algorithm_choice.h"
#include "daemon/cli/edge_list.h"
#include "daemon/cli/legality.h"
#include "daemon/cli/setting_sources.h"
#include "daemon/process/model_file.h"
#include "gossip/wire/message.h"
#include "optim/options.h"
#include "topology/build.h"

namespace starling::daemon {
namespace {

using namespace std::string_view_literals;

constexpr std::array kLogLevels = {"debug"sv, "info"sv, "warning"sv, "error"sv, "off"sv};

// An address of IPv6 has two colons at least; one colon stands before a port.
bool is_lone_host(const std::string& host) {
  return is_host(host) && std::ranges::count(host, ':') != 1;
}

// A missing one keeps what is there.
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

// The port behind that of listen.control, unless it is named.
void read_bulk(Reader& reader, Config& config) {
  const std::uint16_t port = config.listen_control.port;
  const bool has_next = port != 0 && port != 65535;
  config.listen_bulk = {config.listen_control.host,
                        static_cast<std::uint16_t>(has_next ? port + 1 : 0)};
  Address{}.read(reader, "listen.bulk", config.listen_bulk);
}

void bind_node(Bindings<Config>& all) {
  using enum Scope;
  all.bind("node.name", at(&Config::node, &gossip::Options::name), Text{}, own,
           "how others know this node, unique; default: host name, port and four letters drawn "
           "by chance, which are kept in node.data-dir where there is one")
      .bind(
          "node.seed", [](auto& config) -> auto& { return config.learner.optim.seed; },
          Whole{0, INT64_MAX}, own,
          "of all chance in training: the initial parameters, equal on every node, and the "
          "order of samples, different on each")
      .bind("node.data-dir", &Config::data_dir, Text{}, own,
            "folder, of this node alone, where it keeps its incarnation and the addresses of the "
            "members it met, to find them again without cluster.join; default: nothing is kept")
      .bind("node.log", &Config::log_level, OneOf{kLogLevels}, own,
            "least level that is printed: debug, info, warning, error, off");
}

void bind_addresses(Bindings<Config>& all) {
  using enum Scope;
  all.bind("listen.control", &Config::listen_control, Address{}, own,
           "HOST:PORT for membership messages, an address of this machine or a name of it; port "
           "0 takes a free one")
      .add({"listen.bulk", "", "HOST:PORT for parameters; default: the control port plus one"},
           read_bulk)
      .bind("listen.http", &Config::listen_http, Address{}, own,
            "HOST:PORT of the REST interface; other than loopback needs http.token-file")
      .bind("listen.advertise", &Config::advertise, Text{}, own,
            "host by which other nodes reach this one; needed when listening on all addresses")
      .bind("http.token-file", &Config::token_file, Text{}, own,
            "file of mode 0600 with the bearer token that changing requests must carry")
      .bind("http.allowed-hosts", &Config::allowed_hosts, Text{}, own,
            "host names, without a port, by which clients and proxies may ask the REST interface "
            "beside localhost and addresses; separated by commas");
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
      .bind("trainer.share-state", &Config::trainer_shares_state, OneOf{kFlagNames}, own,
            "give newcomers what the trainer saved beside the parameters: moments that fit, for "
            "two to three times the bytes");
}

const Bindings<Config>& bindings() {
  static const auto kBindings = [] {
    Bindings<Config> all;
    bind_node(all);
    bind_addresses(all);
    bind_trainer(all);
    return all;
  }();
  return kBindings;
}

// What one key alone cannot tell, and what its form does not check.
void check_addresses(const Config& config, Reader& reader) {
  if (config.listen_bulk == config.listen_control && config.listen_bulk.port != 0)
    reader.mistake("listen.bulk", "is listen.control too; expected another port, or 0 for any");
  for (const std::string& host : config.allowed_hosts)
    if (!is_lone_host(host))
      reader.mistake("http.allowed-hosts",
                     "expected host names without a port, such as node.example");
  if (!config.advertise.empty() && !is_lone_host(config.advertise))
    reader.mistake("listen.advertise", "expected a host without a port, such as 10.0.0.1");
  if (is_wildcard(config.listen_control) && config.advertise.empty())
    reader.mistake("listen.control", "listens everywhere; name one address in listen.advertise");
  if (!is_loopback(config.listen_http) && config.token_file.empty())
    reader.mistake("listen.http", "others can reach it; http.token-file must name a token");
}

}  // namespace

bool is_wildcard(const Endpoint& endpoint) {
  return endpoint.host == "0.0.0.0" || endpoint.host == "::" || endpoint.host == "*";
}

const Schema& schema() {
  static const Schema kSchema = [] {
    Schema schema;
    bindings().describe(schema);
    gossip::describe(schema);
    topology::describe(schema);
    models::describe_learner(schema);
    schema.add({"stop.stay",
                "false",
                "keep serving after the goal is reached instead of leaving",
                false,
                Scope::own,
                {"false", "true"}});
    return schema;
  }();
  return kSchema;
}

Result<Config> read_config(const Settings& settings, std::vector<std::string> mistakes) {
  Reader reader(settings, std::move(mistakes));
  Config config;
  config.node = gossip::read_options(reader);
  config.learner = models::read_learner_options(reader);
  bindings().read(reader, config);
  if (const std::string& from = config.learner.model.from; !from.empty()) {
    if (auto start = read_model(from))
      config.learner.model.start = std::make_shared<const models::TrainedModel>(*std::move(start));
    else
      reader.mistake("model.from", start.error().text);
  }
  config.node.seed = config.learner.optim.seed;
  const optim::AlgorithmRow*& algorithm = config.learner.optim.algorithm;
  if (!algorithm) {
    AlgorithmChoice choice = choose_algorithm(config.node, config.learner, reader);
    algorithm = choice.algorithm;
    config.algorithm_reason = std::move(choice.reason);
  } else {
    config.advice = advise(config.node, config.learner, reader);
  }
  config.node.algorithm = optim::full_name(config.learner.optim);
  config.node.needs = algorithm->needs;
  if (config.learner.optim.local_steps == 0)
    config.node.exchange_share = config.learner.optim.exchange_share;
  if (config.node.needs.is_pairwise && reader.is_default("exchange.schedule"))
    config.node.schedule = gossip::schedule_named("pairwise");
  config.stays = reader.flag("stop.stay");
  check_addresses(config, reader);
  check_legality(config.node, config.learner.optim, reader);
  if (config.node.name.size() > 64) reader.mistake("node.name", "has more than 64 bytes");
  TRY_DO(reader.verdict());
  TRY_DO(load_edges(config.node.topology));
  config.node.terms = models::agreed(config.learner);
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
  std::vector<topology::Site> sites;
  for (std::size_t k = 0; k < nodes; ++k) {
    const std::string name = fmt::format("node-{}", k);
    sites.push_back({node_id(name), name});
  }
  return topology::validate(config.node.topology, sites);
}

Result<void> validate_goal(const Config& config, const models::Data& data) {
  if (!config.node.goal.accuracy || data.train.classes > 0) return {};
  return fail(
      "stop.accuracy = {}: targets that are numbers have no accuracy; expected stop.loss, "
      "stop.rounds or stop.seconds",
      *config.node.goal.accuracy);
}

std::vector<std::string> doubts(const Config& config, const Schema& schema) {
  std::vector<std::string> texts = unknown_variables(schema, environment_variables());
  if (!config.advice.empty()) texts.push_back(config.advice);
  return texts;
}

bool deals_fixed_parts(const Config& config) {
  const models::DataOptions& data = config.learner.data;
  return data.shard.kind == models::ShardChoice::Kind::automatic &&
         (data.partition.kind != models::Partition::Kind::iid ||
          data.source == models::Source::reference);
}

std::string config_json(const Settings& settings) {
  nlohmann::ordered_json json;
  for (const Key& key : settings.schema().keys()) {
    const Setting& setting = settings.at(key.name);
    json[key.name] = {
        {"value", setting.value}, {"origin", setting.origin}, {"scope", name(key.scope)}};
  }
  return json.dump(2);
}

}  // namespace starling::daemon
