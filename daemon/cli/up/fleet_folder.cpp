#include "daemon/cli/up/fleet_folder.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/process/json_text.h"
#include "daemon/process/whole_file.h"
#include "daemon/rest/document.h"
#include "models/data/gz_file.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr char kFolderKey[] = "node.data-dir";

std::string file_in(const std::string& folder) {
  return folder + "/fleet.json";
}

}  // namespace

Result<void> keep_fleet(const std::string& folder, std::size_t nodes, const Settings& settings) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail("node.data-dir = \"{}\": cannot be made: {}; expected a folder to write to", folder,
                error.message());
  json kept = json::object();
  for (const Key& key : settings.schema().keys())
    if (!settings.is_default(key.name) && key.name != kFolderKey)
      kept[key.name] = settings.text(key.name);
  const json document = {{"nodes", nodes}, {"settings", std::move(kept)}};
  return replace_file(file_in(folder), document.dump(2) + "\n");
}

Result<void> recall_fleet(const std::string& folder, CommandLine& line) {
  const json document = parse_json(models::read_text(file_in(folder)).value_or(""));
  const json& nodes = part(document, "nodes");
  if (!nodes.is_number_unsigned() || !document.value("settings", json()).is_object())
    return fail(
        "--resume {}: holds no readable fleet.json; expected the node.data-dir of an earlier "
        "starling up",
        folder);
  const auto names = [&line](const std::string& key) {
    return std::ranges::any_of(line.keys, [&](const auto& item) { return item.first == key; });
  };
  if (!line.has("nodes")) line.options["nodes"] = {std::to_string(nodes.get<std::uint64_t>())};
  std::vector<std::pair<std::string, std::string>> keys;
  for (const auto& [key, value] : document["settings"].items())
    if (!line.has("config") && value.is_string() && !names(key))
      keys.emplace_back(key, value.get<std::string>());
  if (!names(kFolderKey)) keys.emplace_back(kFolderKey, folder);
  line.keys.insert(line.keys.begin(), keys.begin(), keys.end());
  return {};
}

}  // namespace starling::daemon
