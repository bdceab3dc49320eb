#include "daemon/setup/local_run.h"

#include "base/text.h"
#include "daemon/setup/setting_sources.h"

namespace starling::daemon {

Result<LocalRun> read_local_run(const CommandLine& line) {
  constexpr std::int64_t kNodesMost = 1024;
  const auto nodes = parse_integer(line.value("nodes").value_or("8"));
  if (!nodes || *nodes < 1 || *nodes > kNodesMost)
    return fail("-n {}: expected a whole number from 1 to {}", *line.value("nodes"), kNodesMost);
  std::vector<std::string> mistakes;
  LocalRun run{.nodes = static_cast<std::size_t>(*nodes),
               .settings = gather_settings(schema(), line.value("config"), line.keys, mistakes)};
  run.is_near = run.settings.is_default("cluster.preset");
  run.recipe = settle_local(run.settings);
  TRY(run.config, read_config(run.settings, std::move(mistakes)));
  TRY_DO(validate_cluster(run.config, run.nodes));
  return run;
}

}  // namespace starling::daemon
