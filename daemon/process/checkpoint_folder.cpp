#include "daemon/process/checkpoint_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

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
constexpr char kDamaged[] = ".damaged";  // after the name of a generation
// Less room than a file needs: with this, a disk counts as full.
constexpr std::uint64_t kNoRoom_bytes = 65'536;
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

struct Room {
  std::uint64_t bytes = 0;
  bool has_files = true;  // whether the file system can make another file

  bool is_full() const { return bytes < kNoRoom_bytes || !has_files; }
};

// The room on the disk; UINT64_MAX if the system does not report it.
Room room_at(const std::string& path) {
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) != 0) return {UINT64_MAX};
  return {static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize,
          system.f_files == 0 || system.f_favail > 0};
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::uint64_t bytes_below(const std::string& path) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_regular_file(error)) bytes += entry->file_size(error);
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
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (const auto number = number_of(entry->path().stem()))
      folder.newest_ = std::max(folder.newest_, *number);
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
  while (true) {
    const auto written = write_next(content);
    if (written) break;
    const Room room = room_at(path_);  // with the unfinished generation on it
    std::error_code error;
    fs::remove_all(path_ + "/" + kUnfinished, error);
    fs::remove_all(folder_of(newest_ + 1), error);
    if (!room.is_full()) return written;
    if (give_up_oldest()) continue;
    if (!room.has_files)
      return fail("{}: the file system has room and no inodes: too many files",
                  written.error().text);
    return written;
  }
  generation_ = ++newest_;
  bytes_ = 0;
  for (const auto& [name, bytes] : content.files) bytes_ += bytes.size();
  remove_old(keep);
  return {};
}

Result<void> CheckpointFolder::write_next(const Generation& content) {
  const std::string unfinished = path_ + "/" + kUnfinished, finished = folder_of(newest_ + 1);
  std::error_code error;
  fs::create_directories(path_, error);
  fs::remove_all(unfinished, error);
  TRY_DO(write(unfinished, content));
  if (std::rename(unfinished.c_str(), finished.c_str()) != 0)
    return fail("cannot rename {}: {}", unfinished, std::strerror(errno));
  return sync_folder(path_);
}

// Removes the oldest generation, unless no other one is whole. Returns whether it did.
bool CheckpointFolder::give_up_oldest() const {
  const auto found = generations();
  const auto whole = std::ranges::find_if(found.rbegin(), found.rend(), [&](std::uint64_t number) {
    return number == generation_ || read(folder_of(number)).has_value();
  });
  if (found.size() < 2 || whole == found.rend()) return false;
  const std::uint64_t oldest = found[found.front() == *whole ? 1 : 0];
  std::error_code error;
  fs::remove_all(folder_of(oldest), error);
  return !fs::exists(folder_of(oldest), error);
}

std::string CheckpointFolder::doubt(std::uint64_t bytes, std::size_t keep) const {
  const Room room = room_at(path_);
  if (room.bytes == UINT64_MAX) return {};
  const std::uint64_t has = room.bytes + bytes_below(path_), wants = (keep + 1) * bytes;
  if (wants <= has) return {};
  return fmt::format(
      "{} has room for {}, and checkpoint.keep = {} generations of {} and one that is being "
      "written "
      "take {}: the oldest give way when it is full",
      path_, megabytes(has), keep, megabytes(bytes), megabytes(wants));
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

// A generation that cannot be removed is tried again after the next save.
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
  for (const std::uint64_t generation : found)
    std::rename(folder_of(generation).c_str(), (folder_of(generation) + kDamaged).c_str());
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
