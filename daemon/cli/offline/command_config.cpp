#include "daemon/cli/offline/command_config.h"

#include "base/command_line.h"
#include "base/text.h"
#include "daemon/cli/terminal/exit_code.h"
#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kColumns = 96;

// Words of `text` in lines that start with `indent`.
std::string wrap(std::string_view text, std::string_view indent) {
  std::string lines;
  std::string line(indent);
  for (const std::string& word : split(text, ' ')) {
    if (line.size() + word.size() + 1 > kColumns) {
      lines += line + "\n";
      line = indent;
    }
    line += line == indent ? word : " " + word;
  }
  return lines + line + "\n";
}

void print_settings(const Settings& settings) {
  std::string section;
  for (const Key& key : settings.schema().keys()) {
    const std::string own = key.name.substr(0, key.name.find('.'));
    if (own != section) fmt::print("{}[{}]\n", section.empty() ? "" : "\n", own);
    section = own;
    const Setting& setting = settings.at(key.name);
    fmt::print("{}{}", wrap(key.help, "# "),
               key.scope == Scope::agreed ? "# agreed: the same on every node\n" : "");
    fmt::print("{} = {}", key.name.substr(own.size() + 1), setting.value);
    fmt::print("{}\n", setting.origin == "default" ? "" : "   # from " + setting.origin);
  }
}

const CommandOption kConfigOptions[] = {
    {"config,c", "configuration file", true},
    {"json", "print one JSON document", false},
    {"help,h", "", false},
};

}  // namespace

int command_config(std::span<const std::string> arguments) {
  const auto line = parse_command_line(arguments, kConfigOptions);
  if (!line) return wrong_usage(line.error().text);
  if (line->has("help")) return print_help("config");
  std::vector<std::string> mistakes;
  const Settings settings = gather_settings(schema(), line->value("config"), line->keys, mistakes);
  if (const auto config = read_config(settings, std::move(mistakes)); !config)
    return wrong_usage(config.error().text);
  if (line->has("json"))
    fmt::print("{}\n", config_json(settings));
  else
    print_settings(settings);
  return kExitDone;
}

}  // namespace starling::daemon
