#include "daemon/cli/up/next_commands.h"

#include <algorithm>
#include <cctype>
#include <cstring>

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
  if (options.parts || !options.site_arguments.empty()) return {};
  std::string command = "starling run --join " + to_string(fleet.nodes()[0].control);
  if (!fleet.cluster_key().empty()) command += " --cluster-key " + quoted(fleet.cluster_key());
  command += " --listen.http=127.0.0.1:0";
  if (!options.data_dir.empty())
    command +=
        " --node.data-dir=" + quoted(fmt::format("{}/node-{}", options.data_dir, options.nodes));
  for (const std::string& argument : options.shared) command += " " + quoted(argument);
  return command;
}

}  // namespace starling::daemon
