#include "daemon/setup/key_options.h"

namespace starling::daemon {
namespace {

void name_trainer(CommandLine& line) {
  const auto command = line.value("trainer");
  if (!command) return;
  line.keys.emplace_back("trainer.command", *command);
  const auto is_kind = [](const auto& key) { return key.first == "model.kind"; };
  std::erase_if(line.keys, is_kind);
  line.keys.emplace_back("model.kind", "external");
}

}  // namespace

void name_keys(CommandLine& line) {
  if (line.has("join"))
    for (const std::string& seed : line.options["join"])
      line.keys.emplace_back("cluster.join", seed);
  if (const auto from = line.value("from")) line.keys.emplace_back("model.from", *from);
  name_trainer(line);
}

}  // namespace starling::daemon
