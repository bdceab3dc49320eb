#include "daemon/cli/config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
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

void describe_daemon(Schema& schema) {
  schema.add({"node.name", "",
              "how others know this node, unique; default: host name, port and four letters drawn "
              "by chance, which are kept in node.data-dir where there is one"});
  schema.add({"node.seed", "1",
              "of all chance in training: the initial parameters, equal on every node, and the "
              "order of samples, different on each"});
  schema.add({"node.data-dir", "",
              "folder, of this node alone, where it keeps its incarnation and the addresses of the "
              "members it met, to find them again without cluster.join; default: nothing is kept"});
  schema.add({"node.log", "info", "least level that is printed: debug, info, warning, error, off"});
  schema.add({"listen.control", "127.0.0.1:7600",
              "HOST:PORT for membership messages, an address of this machine or a name of it; port "
              "0 takes a free one"});
  schema.add({"listen.bulk", "", "HOST:PORT for parameters; default: the control port plus one"});
  schema.add({"listen.http", "127.0.0.1:7680",
              "HOST:PORT of the REST interface; other than loopback needs http.token-file"});
  schema.add({"listen.advertise", "",
              "host by which other nodes reach this one; needed when listening on all addresses"});
  schema.add({"http.token-file", "",
              "file of mode 0600 with the bearer token that changing requests must carry"});
  schema.add({"http.allowed-hosts", "",
              "host names, without a port, by which clients and proxies may ask the REST interface "
              "beside localhost and addresses; separated by commas",
              true});
}

Endpoint read_endpoint(Reader& reader, std::string_view key, const Endpoint& fallback) {
  if (reader.text(key).empty()) return fallback;
  if (auto endpoint = parse_endpoint(reader.text(key)))
    return *endpoint;
  else
    reader.mistake(key, endpoint.error().text);
  return fallback;
}

// An address of IPv6 has two colons at least; one colon stands before a port.
bool is_lone_host(const std::string& host) {
  return is_host(host) && std::ranges::count(host, ':') != 1;
}

void read_addresses(Reader& reader, Config& config) {
  config.listen_control = read_endpoint(reader, "listen.control", {"127.0.0.1", 7600});
  const std::uint16_t control_port = config.listen_control.port;
  const auto next_port =
      static_cast<std::uint16_t>(control_port == 0 || control_port == 65535 ? 0 : control_port + 1);
  config.listen_bulk =
      read_endpoint(reader, "listen.bulk", {config.listen_control.host, next_port});
  if (config.listen_bulk == config.listen_control && config.listen_bulk.port != 0)
    reader.mistake("listen.bulk", "is listen.control too; expected another port, or 0 for any");
  config.listen_http = read_endpoint(reader, "listen.http", {"127.0.0.1", 7680});
  config.advertise = reader.text("listen.advertise");
  config.token_file = reader.text("http.token-file");
  for (const std::string& host : reader.list("http.allowed-hosts")) {
    config.allowed_hosts.emplace_back(trim(host));
    if (!is_lone_host(config.allowed_hosts.back()))
      reader.mistake("http.allowed-hosts",
                     "expected host names without a port, such as node.example");
  }
  if (!config.advertise.empty() && !is_lone_host(config.advertise))
    reader.mistake("listen.advertise", "expected a host without a port, such as 10.0.0.1");
  if (is_wildcard(config.listen_control) && config.advertise.empty())
    reader.mistake("listen.control", "listens everywhere; name one address in listen.advertise");
  if (!is_loopback(config.listen_http) && config.token_file.empty())
    reader.mistake("listen.http", "others can reach it; http.token-file must name a token");
}

// What a neighbour must train too.
std::vector<gossip::Term> terms(const models::LearnerOptions& learner, const Reader& reader) {
  std::vector<gossip::Term> terms;
  for (const char* key : {"model.kind", "model.precision", "exchange.codec", "data.source"})
    terms.emplace_back(key, reader.text(key));
  if (learner.model.kind == models::ModelKind::mlp ||
      learner.model.kind == models::ModelKind::automatic)
    terms.emplace_back("model.hidden", reader.text("model.hidden"));
  return terms;
}

}  // namespace

bool is_wildcard(const Endpoint& endpoint) {
  return endpoint.host == "0.0.0.0" || endpoint.host == "::" || endpoint.host == "*";
}

const Schema& schema() {
  static const Schema kSchema = [] {
    Schema schema;
    describe_daemon(schema);
    gossip::describe(schema);
    topology::describe(schema);
    models::describe_learner(schema);
    schema.add({"stop.stay", "false", "keep serving after the goal is reached instead of leaving"});
    return schema;
  }();
  return kSchema;
}

Result<Config> read_config(const Settings& settings, std::vector<std::string> mistakes) {
  Reader reader(settings, std::move(mistakes));
  Config config;
  config.node = gossip::read_options(reader);
  config.learner = models::read_learner_options(reader);
  if (const std::string& from = config.learner.model.from; !from.empty()) {
    if (auto start = read_model(from))
      config.learner.model.start = std::make_shared<const models::TrainedModel>(*std::move(start));
    else
      reader.mistake("model.from", start.error().text);
  }
  config.node.name = reader.text("node.name");
  config.node.seed = config.learner.optim.seed;
  const optim::AlgorithmRow*& algorithm = config.learner.optim.algorithm;
  if (!algorithm) {
    AlgorithmChoice choice = choose_algorithm(config.node, config.learner, reader);
    algorithm = choice.algorithm;
    config.algorithm_reason = std::move(choice.reason);
  } else {
    config.advice = advise(config.node, config.learner, reader);
  }
  config.node.algorithm = algorithm->name;
  config.node.needs = algorithm->needs;
  if (config.node.needs.is_pairwise && reader.is_default("exchange.schedule"))
    config.node.schedule = gossip::Schedule::pairwise;
  config.data_dir = reader.text("node.data-dir");
  config.stays = reader.flag("stop.stay");
  config.log_level = static_cast<log::Level>(reader.choice("node.log", kLogLevels));
  read_addresses(reader, config);
  check_legality(config.node, config.learner.optim, reader);
  config.node.terms = terms(config.learner, reader);
  if (config.node.name.size() > 64) reader.mistake("node.name", "has more than 64 bytes");
  TRY_DO(reader.verdict());
  TRY_DO(load_edges(config.node.topology));
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
    json[key.name] = {{"value", setting.value}, {"origin", setting.origin}};
  }
  return json.dump(2);
}

}  // namespace starling::daemon
