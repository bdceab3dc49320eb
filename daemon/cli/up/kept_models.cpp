#include "daemon/cli/up/kept_models.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "daemon/cli/terminal/output.h"
#include "daemon/cli/up/next_commands.h"
#include "daemon/process/model_file.h"
#include "daemon/setup/sites.h"

namespace starling::daemon {
namespace {

// FILE-NODE.safetensors.
std::string model_path_of(const std::filesystem::path& whole, const std::string& node) {
  return (whole.parent_path() / (whole.stem().string() + "-" + node + whole.extension().string()))
      .string();
}

// Models of the columns of each site, and how to predict with all of them.
Outcome<KeptModels> keep_parts(const Fleet& fleet, const std::filesystem::path& whole,
                               const models::DataOptions& data) {
  std::string files, partial, added, holder;
  for (const auto& [name, bytes] : fleet.models()) {
    const std::string path = model_path_of(whole, name);
    TRY_DO(write_output(bytes, path));
    files += (files.empty() ? "" : ", ") + path;
    TRY(const models::TrainedModel model, parse_model(bytes));
    // The nodes of `up` are numbered as their files are.
    const auto index =
        static_cast<std::size_t>(parse_integer(name.substr(name.rfind('-') + 1)).value_or(0));
    const std::string table = site_options(data, index).path;
    if (model.card.part && model.card.part->is_holder()) {
      holder = fmt::format("  starling predict {} {} --add=", path, table);
      continue;
    }
    const std::string scores = fmt::format("scores-{}.csv", name);
    partial += fmt::format("  starling predict {} {} --partial --output={}\n", path, table, scores);
    added += (added.empty() ? "" : ",") + scores;
  }
  KeptModels kept{.sentence = "Models of each site's columns in " + files, .commands = ""};
  if (!holder.empty())
    kept.commands = fmt::format("Predict with them:\n{}{}{}\n", partial, holder, added);
  return kept;
}

}  // namespace

Outcome<KeptModels> keep_models(const Fleet& fleet, const std::string& path,
                                const models::DataOptions& data) {
  if (fleet.models().empty()) return KeptModels{};
  if (data.split == models::Split::columns) return keep_parts(fleet, path, data);
  TRY_DO(write_output(fleet.models().front().second, path));
  return KeptModels{
      .sentence = fmt::format("Model in {}{}", path, how_to_use(path, fleet.has_trainers(), data)),
      .commands = ""};
}

}  // namespace starling::daemon
