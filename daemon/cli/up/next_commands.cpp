#include "daemon/cli/up/next_commands.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "daemon/process/model_file.h"
#include "daemon/setup/sites.h"

namespace starling::daemon {
namespace {

constexpr char kDefaultHttp[] = "127.0.0.1:7680";  // that `starling status` asks

// For a shell.
std::string quoted(const std::string& word) {
  const bool is_plain = std::ranges::all_of(
      word, [](unsigned char c) { return std::isalnum(c) || std::strchr("-_./:=,@%+", c); });
  return is_plain ? word : "'" + word + "'";
}

}  // namespace

std::string how_to_ask(Fleet& fleet) {
  const std::string http = to_string(fleet.nodes()[0].http);
  return "starling status" + (http == kDefaultHttp ? "" : " --api http://" + http);
}

std::string how_to_join(Fleet& fleet, const FleetOptions& options) {
  std::string command = "starling run --join " + to_string(fleet.nodes()[0].control);
  if (!fleet.cluster_key().empty()) command += " --cluster-key " + quoted(fleet.cluster_key());
  for (const char* const key : {"listen.control", "listen.http"})
    command += fmt::format(" --{}={}", key, to_string(Endpoint{options.host, 0}));
  if (!options.data_dir.empty())
    command +=
        " --node.data-dir=" + quoted(fmt::format("{}/node-{}", options.data_dir, options.nodes));
  for (const std::string& argument : options.shared) command += " " + quoted(argument);
  return command;
}

std::string how_to_use(const std::string& model, bool is_of_trainers,
                       const models::DataOptions& data) {
  if (is_of_trainers) return fmt::format(": {}", kHowToLoad);
  if (data.source == models::Source::csv)
    return fmt::format("; predict with it: starling predict {} FILE.csv", model);
  // Drawn data need no name.
  const bool has_name = data.source == models::Source::libsvm && data.test_path.empty();
  return fmt::format("; what it takes for what: starling evaluate {} {}", model,
                     has_name                 ? "FILE"
                     : data.test_path.empty() ? data.path
                                              : data.test_path);
}

OneMore one_more(const Config& config, std::size_t n) {
  const models::DataOptions& data = config.learner.data;
  if (has_sites(data)) {
    const models::DataOptions own = site_options(data, n);
    OneMore more{{"--data.path=" + own.path}, "with its own " + own.path};
    if (data.shard.kind == models::ShardChoice::Kind::all)
      more.arguments.emplace_back("--data.shard=all");
    if (!own.test_path.empty()) more.arguments.push_back("--data.test-path=" + own.test_path);
    if (!own.dictionary_path.empty())
      more.arguments.push_back("--data.dictionary=" + own.dictionary_path);
    return more;
  }
  const bool is_external = config.learner.model.kind == models::ModelKind::external;
  if (is_external || !deals_fixed_parts(config)) return {};
  const std::size_t problems = data.reference.n;
  if (data.source == models::Source::reference && n < problems)
    return {{fmt::format("--data.shard={}/{}", n, problems)}, "with a problem that no node has"};
  // All are dealt out.
  return {{fmt::format("--data.shard=0/{}", n)}, "with the part of node-0"};
}

}  // namespace starling::daemon
