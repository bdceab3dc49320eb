#include "daemon/process/checkpoint_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/content_hash.h"
#include "daemon/process/json_text.h"
#include "daemon/process/whole_file.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kCheckpointFormat = 1;
constexpr char kManifest[] = "manifest.json";
constexpr char kUnfinished[] = ".new";
constexpr std::size_t kNameDigits = 12;

std::string hash_of(const Payload& bytes) {
  return fmt::format("{:016x}", content_hash(bytes));
}

bool is_plain_name(std::string_view name) {
  const bool is_clean = std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; });
  return is_clean && !name.empty() && name.front() != '.' && name != kManifest;
}

Result<Payload> read_existing(const std::string& path, std::size_t limit) {
  TRY(const auto bytes, read_file(path, limit));
  if (!bytes) return fail("{} is not there", path);
  return *bytes;
}

// The manifest's JSON is the first line, its checksum the second.
Result<json> read_manifest(const std::string& path) {
  TRY(const Payload bytes, read_existing(path, CheckpointFolder::kManifestBytesLimit));
  const std::string text = as_text(bytes);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.substr(end + 1) != hash_of(bytes.slice(0, end)) + "\n")
    return fail("{} is damaged: its checksum is not that of its text", path);
  const json manifest = parse_json(text.substr(0, end));
  const bool is_ours = manifest.is_object() && manifest.contains("format") &&
                       manifest["format"] == kCheckpointFormat && manifest.contains("about") &&
                       manifest["about"].is_object() && manifest.contains("files") &&
                       manifest["files"].is_object() &&
                       manifest["files"].size() <= CheckpointFolder::kFilesLimit;
  if (!is_ours) return fail("{} is not of format {}", path, kCheckpointFormat);
  return manifest;
}

Result<Payload> read_checked(const std::string& path, const json& entry) {
  const auto size = entry.find("bytes");
  if (size == entry.end() || !size->is_number_unsigned())
    return fail("the manifest beside {} does not say its size", path);
  const auto expected = size->get<std::size_t>();
  TRY(Payload bytes, read_existing(path, expected));
  if (bytes.size() != expected)
    return fail("{} has {} bytes; expected {}", path, bytes.size(), expected);
  const std::string hash = hash_of(bytes);
  const json noted = entry.value("xxh3", json());
  if (noted != hash)
    return fail("{} is damaged: its checksum is {}; expected {}", path, hash,
                noted.is_string() ? noted.get<std::string>() : "a text");
  return bytes;
}

std::optional<std::uint64_t> number_of(const std::string& name) {
  const bool is_number = name.size() == kNameDigits &&
                         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional(std::stoull(name)) : std::nullopt;
}

}  // namespace

Result<CheckpointFolder> CheckpointFolder::open(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error))
    return fail("{} is no folder and cannot be made one: {}", path, error.message());
  CheckpointFolder folder(path);
  fs::remove_all(fs::path(path) / kUnfinished, error);
  const auto found = folder.generations();
  if (!found.empty()) folder.newest_ = found.back();
  return folder;
}

std::string CheckpointFolder::folder_of(std::uint64_t generation) const {
  return fmt::format("{}/{:0{}}", path_, generation, kNameDigits);
}

std::vector<std::uint64_t> CheckpointFolder::generations() const {
  std::vector<std::uint64_t> found;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error))
    if (const auto number = number_of(entry->path().filename())) found.push_back(*number);
  std::ranges::sort(found);
  return found;
}

Result<void> CheckpointFolder::save(const Generation& content, std::size_t keep) {
  const std::string unfinished = path_ + "/" + kUnfinished;
  std::error_code error;
  fs::remove_all(unfinished, error);
  auto written = write(unfinished, content);
  const std::string finished = folder_of(newest_ + 1);
  if (written && std::rename(unfinished.c_str(), finished.c_str()) != 0)
    written = fail("cannot rename {}: {}", unfinished, std::strerror(errno));
  if (written) written = sync_folder(path_);
  if (!written) {
    fs::remove_all(unfinished, error);
    fs::remove_all(finished, error);
    return written;
  }
  generation_ = ++newest_;
  bytes_ = 0;
  for (const auto& [name, bytes] : content.files) bytes_ += bytes.size();
  remove_old(keep);
  return {};
}

Result<void> CheckpointFolder::write(const std::string& folder, const Generation& content) const {
  ENSURE(content.files.size() <= kFilesLimit, "a checkpoint keeps to its limit");
  if (::mkdir(folder.c_str(), 0700) != 0)
    return fail("cannot make {}: {}", folder, std::strerror(errno));
  json files = json::object();
  for (const auto& [name, bytes] : content.files) {
    ENSURE(is_plain_name(name), "the name of a checkpoint's file is plain");
    TRY_DO(write_file(folder + "/" + name, bytes));
    files[name] = {{"bytes", bytes.size()}, {"xxh3", hash_of(bytes)}};
  }
  const json manifest = {{"format", kCheckpointFormat}, {"about", content.about}, {"files", files}};
  const std::string text = manifest.dump(-1, ' ', false, json::error_handler_t::replace);
  TRY_DO(write_file(folder + "/" + kManifest,
                    as_payload(fmt::format("{}\n{}\n", text, hash_of(as_payload(text))))));
  return sync_folder(folder);
}

// What cannot be removed stays, and is tried again with the next.
void CheckpointFolder::remove_old(std::size_t keep) const {
  const auto found = generations();
  std::error_code error;
  for (std::size_t k = 0; k + keep < found.size(); ++k) fs::remove_all(folder_of(found[k]), error);
}

std::optional<Generation> CheckpointFolder::load(const Objection& objection) {
  damages_.clear();
  auto found = generations();
  std::ranges::reverse(found);
  for (const std::uint64_t generation : found) {
    auto content = read(folder_of(generation));
    const std::string problem = !content    ? content.error().text
                                : objection ? objection(*content)
                                            : "";
    if (problem.empty()) {
      generation_ = generation;
      return *std::move(content);
    }
    damages_.push_back(content ? folder_of(generation) + ": " + problem : problem);
  }
  return std::nullopt;
}

Result<Generation> CheckpointFolder::read(const std::string& folder) const {
  TRY(const json manifest, read_manifest(folder + "/" + kManifest));
  Generation content;
  for (const auto& [key, value] : manifest["about"].items())
    if (value.is_string()) content.about[key] = value.get<std::string>();
  for (const auto& [name, entry] : manifest["files"].items()) {
    if (!is_plain_name(name) || !entry.is_object())
      return fail("{} names a file {}", folder, json(name).dump());
    TRY(content.files[name], read_checked(folder + "/" + name, entry));
  }
  return content;
}

}  // namespace starling::daemon
