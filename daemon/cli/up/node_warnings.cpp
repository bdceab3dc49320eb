#include "daemon/cli/up/node_warnings.h"

#include "daemon/cli/up/trainer_words.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

// Longer: a trainer that cannot start is reported later. Shorter: so is one that takes its time.
constexpr double kStartWithoutWord_s = 5;

void add_trainer_words(const Fleet::Node& node, std::vector<std::string>& warnings) {
  for (const std::string& line : trainer_words(node.process.log_path()))
    warnings.push_back("its trainer said: " + line);
}

}  // namespace

std::vector<std::string> warnings_of(Fleet::Node& node, double time_s) {
  std::vector<std::string> warnings;
  const nlohmann::json& trainer = part(node.status, "trainer");
  if (!node.process.running()) {
    if (node.process.exit_code().value_or(0) != 0)
      warnings.push_back("ended: " + last_line(node.process.log_path()));
  } else if (node.status.is_object()) {
    warnings = part(node.status, "node").value("warnings", std::vector<std::string>());
    if (trainer.value("state", "") == "lost" || trainer.contains("pause"))
      add_trainer_words(node, warnings);
  } else if (time_s >= kStartWithoutWord_s) {
    add_trainer_words(node, warnings);
    if (const std::string line = node_words(node.process.log_path()); !line.empty())
      warnings.push_back("has not started yet; its log: " + line);
  }
  return warnings;
}

}  // namespace starling::daemon
