// What users write: configuration files, values of settings, command lines, and short texts.
#include <fmt/format.h>

#include "base/ini.h"
#include "base/seed_name.h"
#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/commands.h"
#include "daemon/rest/host_list.h"
#include "daemon/rest/http_client.h"
#include "daemon/rest/http_message.h"
#include "daemon/setup/config.h"
#include "models/nets/layer_registry.h"
#include "optim/codec/wire_form.h"
#include "tests/fuzz/input.h"

namespace starling::fuzz {
namespace {

// ---------------------------------------------------------------- configuration

void run_ini(Bytes input) {
  std::vector<std::string> mistakes;
  const auto entries = parse_ini("file.ini", std::string(text_of(input)), mistakes);
  for (const std::string& mistake : mistakes)
    ENSURE(mistake.starts_with("file.ini"), "a mistake names the file");
  for (const IniEntry& entry : entries) ENSURE(!entry.values.empty(), "a key has a value");
}

// Keys that name files of the machine, which are no part of the text.
bool opens_files(const Settings& settings) {
  return !settings.text("topology.file").empty() || !settings.text("model.from").empty();
}

std::vector<Term> terms_of(const daemon::Config& config) {
  std::vector<Term> terms = agreed(config.learner.data);
  for (const auto& more : {agreed(config.learner.model), agreed(config.learner.optim)})
    terms.insert(terms.end(), more.begin(), more.end());
  return terms;
}

void run_config(Bytes input) {
  const Schema& schema = daemon::schema();
  SettingSources sources;
  sources.file = {"file.ini", std::string(text_of(input))};
  std::vector<std::string> mistakes;
  const Settings settings = gather_settings(schema, sources, mistakes);
  daemon::config_json(settings);
  if (opens_files(settings)) return;
  const auto config = daemon::read_config(settings, std::move(mistakes));
  if (!config) return expect_reason(config.error());
  for (const std::size_t nodes : {1, 8})
    if (const auto valid = validate_cluster(*config, nodes); !valid) expect_reason(valid.error());
  doubts(*config, schema);
  ENSURE(terms_of(*config) == terms_of(*daemon::read_config(settings, {})),
         "nodes with the same settings agree");
}

std::string section_of(std::string_view name) {
  return std::string(name.substr(0, name.find('.')));
}

// Each section with its keys at their defaults; and a few files as users have them.
std::vector<std::string> config_seeds() {
  std::vector<std::string> seeds = {
      "[cluster]\nid = digits\njoin = 10.0.0.1:7600, dns:nodes.example:7600\n[optim]\n"
      "algorithm = gt\nlearning-rate = 0.1\nlocal-steps = 4\n",
      "# a comment\n[exchange]\nschedule = pairwise\ncodec = i4\n[topology]\nkind = random\n"
      "degree = 4\n",
      "[data]\nsource = csv\npath = x.csv\ntarget = y\n[model]\nkind = mlp\nhidden = 64,32\n"
      "[stop]\nrounds = 100\n"};
  std::string section, text;
  for (const Key& key : daemon::schema().keys()) {
    if (section_of(key.name) != section) {
      if (!text.empty()) seeds.push_back(text);
      section = section_of(key.name);
      text = fmt::format("[{}]\n", section);
    }
    text += fmt::format("{} = {}\n", key.name.substr(section.size() + 1), key.initial);
    // A value that it may take too.
    for (const std::string& choice : key.choices)
      seeds.push_back(
          fmt::format("[{}]\n{} = {}\n", section, key.name.substr(section.size() + 1), choice));
  }
  seeds.push_back(text);
  return seeds;
}

// One key, and its value: shorter inputs than a whole file.
void run_value(Bytes input) {
  static const Settings defaults(daemon::schema());
  Input in(input);
  const auto& keys = daemon::schema().keys();
  const Key& key = keys[in.below(std::min<std::size_t>(keys.size(), 256))];
  Settings settings = defaults;
  std::vector<std::string> mistakes;
  const std::vector<SettingSources::Pair> pairs = {{key.name, std::string(text_of(in.rest()))}};
  settings.read_keys(pairs, mistakes);
  if (opens_files(settings)) return;
  const auto config = daemon::read_config(settings, std::move(mistakes));
  if (!config) expect_reason(config.error());
}

std::vector<std::string> value_seeds() {
  std::vector<std::string> seeds;
  const auto& keys = daemon::schema().keys();
  for (std::size_t k = 0; k < keys.size() && k < 256; ++k)
    seeds.push_back(static_cast<char>(k) + keys[k].initial);
  return seeds;
}

// Lines are the words of a command.
void run_command_line(Bytes input) {
  Input in(input);
  const auto all = daemon::commands();
  const ProgramCommand& command = *all[in.below(all.size())];
  std::vector<std::string> words;
  while (!in.empty() && words.size() < 16) words.emplace_back(in.until('\n'));
  const auto line = parse_command_line(words, command);
  if (!line) return expect_reason(line.error());
  for (const auto& [key, value] : line->keys)
    ENSURE(key.find('.') != std::string::npos, "a key has a section");
}

std::vector<std::string> command_line_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < daemon::commands().size(); ++k) {
    std::string text(1, static_cast<char>(k));
    for (const CommandOption& option : daemon::commands()[k]->options)
      text += fmt::format("--{}\n{}", option.long_name(), option.value.empty() ? "" : "1\n");
    seeds.push_back(text + "--optim.learning-rate=0.1\nx");
  }
  return seeds;
}

// ---------------------------------------------------------------- short texts

// What is read is printed, and what is printed reads as the same.
template <class T>
void expect_printed(const Result<T>& value, Result<T> (*parse)(std::string_view)) {
  if (!value) return expect_reason(value.error());
  const std::string printed = to_string(*value);
  const auto again = parse(printed);
  ENSURE(again && to_string(*again) == printed, "what is printed reads as the same");
}

void read_endpoint(const std::string& text) {
  expect_printed(parse_endpoint(text), parse_endpoint);
}
void read_host(const std::string& text) {
  const auto host = parse_host(text);
  if (host) ENSURE(is_host(*host) && parse_host(*host) == *host, "a host is one of an endpoint");
}
void read_seed(const std::string& text) {
  expect_printed(parse_seed_name(text), parse_seed_name);
}
void read_form(const std::string& text) {
  const auto form = optim::parse_wire_form(text);
  if (form && form->format) expect_printed(form, optim::parse_wire_form);
}
void read_key(const std::string& text) {
  const auto key = parse_public_key(text);
  if (key) ENSURE(to_string(*key) == trim(text), "a key has one text");
}
void read_numbers(const std::string& text) {
  if (const auto number = parse_number(text))
    ENSURE(parse_number(fmt::format("{}", *number)) == number, "a number reads as the same");
  if (const auto number = parse_integer(text))
    ENSURE(parse_integer(fmt::format("{}", *number)) == number, "a number reads as the same");
  nearest(text, {"rounds", "pairwise", "allreduce"});
  split(text, ',');
  csv_field(text);
}
void read_host_field(const std::string& text) {
  static const daemon::HostList all({.host = "0.0.0.0", .port = 1}, {"node.example"});
  static const daemon::HostList own({.host = "127.0.0.1", .port = 1}, {"node.example"});
  ENSURE(!own.allows(text) || all.allows(text), "who is bound wider is reached by more names");
}
void read_date(const std::string& text) {
  const auto date = daemon::parse_http_date(text);
  if (date) ENSURE(daemon::parse_http_date(daemon::http_date(*date)).has_value(), "a date is one");
}
void read_url(const std::string& text) {
  const auto at = daemon::parse_url(text);
  if (at) ENSURE(at->port != 0, "a node's address has a port");
}
void read_layers(const std::string& text) {
  const std::vector<std::string> words = split(text, ',');
  const auto layers = models::parse_layers(words);
  if (!layers) return;
  std::vector<std::string> printed;
  for (const models::LayerSpec& layer : *layers) printed.push_back(to_string(layer));
  ENSURE(models::parse_layers(printed) == *layers, "layers read as the same");
}

using Read = void (*)(const std::string& text);
constexpr Read kReads[] = {read_endpoint, read_host,       read_seed, read_form, read_key,
                           read_numbers,  read_host_field, read_date, read_url,  read_layers};

void run_text(Bytes input) {
  Input in(input);
  const Read read = kReads[in.below(std::size(kReads))];
  read(std::string(text_of(in.rest())));
}

std::vector<std::string> text_seeds() {
  constexpr std::string_view kTexts[] = {
      "10.0.0.1:7600",
      "[fe80::1%eth0]:7600",
      "node.example:80",
      "dns:nodes.example:7600",
      "dns:_starling._tcp.example",
      "top:5%",
      "i4",
      "bf16",
      "1e300",
      "-42",
      "[::1]:7680",
      "Sun, 06 Nov 1994 08:49:37 GMT",
      "http://127.0.0.1:7680/",
      "conv:16:5,pool:2,norm,dense:128",
      "10.0.0.1:7600#11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
      "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"};
  std::vector<std::string> seeds;
  for (char read = 0; read < static_cast<char>(std::size(kReads)); ++read)
    for (const std::string_view text : kTexts) seeds.push_back(read + std::string(text));
  return seeds;
}

}  // namespace

std::vector<Target> setting_targets() {
  return {{"ini", run_ini, config_seeds, 2048},
          {"config", run_config, config_seeds, 2048, 200},
          {"setting", run_value, value_seeds, 256, 400},
          {"command-line", run_command_line, command_line_seeds, 512, 300},
          {"texts", run_text, text_seeds, 256, 4000}};
}

}  // namespace starling::fuzz
