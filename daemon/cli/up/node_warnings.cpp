#include "daemon/cli/up/node_warnings.h"

#include <fmt/format.h>

#include "daemon/attach/external_run.h"
#include "daemon/cli/up/trainer_words.h"
#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

// Longer: a trainer that cannot start is reported later. Shorter: so is one that takes its time.
constexpr double kStartWithoutWord_s = 5;

// One text of several lines.
void add_trainer_words(const Fleet::Node& node, std::vector<std::string>& warnings) {
  std::string text = "its trainer wrote last:";
  const std::vector<std::string> words = trainer_words(node.process.log_path());
  for (const std::string& line : words) text += "\n  | " + line;
  if (!words.empty()) warnings.push_back(text);
}

// Its log says why a node left whose trainer has done its work.
std::string end_text(const Fleet::Node& node) {
  const std::string words = node_words(node.process.log_path());
  if (const int code = node.process.exit_code().value_or(0); code != 0)
    return fmt::format("ended with {}{}{}", describe_exit(code), words.empty() ? "" : ": ", words);
  return words.starts_with(kTrainerFinished) ? words : "has left";
}

}  // namespace

std::vector<std::string> warnings_of(Fleet::Node& node, double time_s) {
  std::vector<std::string> warnings;
  const nlohmann::json& trainer = part(node.status, "trainer");
  if (!node.process.running()) {
    warnings.push_back(end_text(node));
  } else if (node.status.is_object()) {
    warnings = part(node.status, "node").value("warnings", std::vector<std::string>());
    if (trainer.contains("pause")) add_trainer_words(node, warnings);
  } else if (time_s >= kStartWithoutWord_s) {
    add_trainer_words(node, warnings);
    if (const std::string line = node_words(node.process.log_path()); !line.empty())
      warnings.push_back("has not started yet; its log: " + line);
  }
  return warnings;
}

}  // namespace starling::daemon
