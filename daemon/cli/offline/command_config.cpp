#include "daemon/cli/offline/commands.h"

#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/text_width.h"
#include "daemon/setup/config.h"
#include "daemon/setup/exposure.h"
#include "daemon/setup/setting_sources.h"
#include "daemon/setup/table_recipe.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kValueColumns = 96;

void print_settings(const Settings& settings) {
  std::string section;
  for (const Key& key : settings.schema().keys()) {
    const std::string own = key.name.substr(0, key.name.find('.'));
    if (own != section) fmt::print("{}[{}]\n", section.empty() ? "" : "\n", own);
    section = own;
    const Setting& setting = settings.at(key.name);
    for (const std::string& words : wrap_words(key.help, kValueColumns - 2))
      fmt::print("# {}\n", words);
    fmt::print("{}", key.scope == Scope::agreed ? "# agreed: the same on every node\n" : "");
    fmt::print("{}", key.is_live ? "# live: starling set changes it in a running node\n" : "");
    fmt::print("{} = {}", key.name.substr(own.size() + 1), setting.value);
    fmt::print("{}\n", setting.origin == "default" ? "" : "   # from " + setting.origin);
  }
}

Outcome<int> run_config(const CommandLine& line) {
  std::vector<std::string> mistakes;
  Settings settings = gather_settings(schema(), line.value("config"), line.keys, mistakes);
  apply_recipe(table_recipe(settings), settings);
  TRY(const Config config, read_config(settings, std::move(mistakes)));
  if (const auto lack = lack_of_keys(config)) fmt::print(stderr, "starling config: {}\n", *lack);
  if (line.has("json"))
    fmt::print("{}\n", config_json(settings));
  else
    print_settings(settings);
  return kExitDone;
}

constexpr auto kConfigOptions = join(kConfiguring, kPrintingJson);

}  // namespace

constinit const ProgramCommand kConfig = {
    .name = "config",
    .summary = "every key, its value and where that comes from",
    .usage = "starling config [-c FILE] [--SECTION.KEY=VALUE ...] [--json]",
    .description = R"(Prints the effective configuration: every key with its help, its value, and
the origin of the value (default, file, environment or command line; the later wins). Agreed keys
have the same value on all nodes that train together; nodes that differ in one have no edge, and say
in which.)",
    .options = kConfigOptions,
    .exits = "0 done, 2 wrong usage or configuration.",
    .settings = "*",
    .run = run_config};

}  // namespace starling::daemon
