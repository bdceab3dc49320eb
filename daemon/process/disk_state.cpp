#include "daemon/process/disk_state.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "daemon/process/whole_file.h"
#include "gossip/wire/wire.h"

namespace starling::daemon {
namespace {

constexpr std::size_t kFileBytesLimit = 256 * 1024;

std::string checksum(std::string_view text) {
  return to_string(NodeId{stable_hash(text)});
}

std::string first_line(const std::string& name) {
  return fmt::format("starling {} 1", name);
}

std::optional<std::uint64_t> parse_incarnation(std::string_view text) {
  const auto value = parse_exactly<std::uint64_t>(text);
  return value && *value < gossip::kIncarnationLimit ? value : std::nullopt;
}

}  // namespace

Outcome<DiskState> DiskState::open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return complaint(kExitWrongUsage,
                     "node.data-dir = \"{}\": cannot be made: {}; expected a folder to write to",
                     folder, error.message());
  OpenFile lock(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock)
    return complaint(kExitWrongUsage, "node.data-dir = \"{}\": {}; expected a folder to write to",
                     folder, std::strerror(errno));
  DiskState state(folder, std::move(lock));
  if (::flock(state.lock_.number(), LOCK_EX | LOCK_NB) != 0)
    return complaint(kExitFailed,
                     "node.data-dir = \"{}\": another node uses it; expected a folder of its own",
                     folder);
  state.read_incarnation();
  state.read_peers();
  return state;
}

// The lines between the first and the last; none, with a warning, if these two are wrong.
std::vector<std::string> DiskState::lines_of(const std::string& name) {
  const auto complain = [&](std::string_view problem) {
    warnings_.push_back(fmt::format("{}: {}; going on without it", path(name), problem));
    return std::vector<std::string>();
  };
  const auto bytes = read_file(path(name), kFileBytesLimit);
  if (!bytes) {
    warnings_.push_back(bytes.error().text + "; going on without it");
    return {};
  }
  if (!*bytes) return {};
  const std::string text = as_text(**bytes);
  const std::vector<std::string> lines = split(text, '\n');
  if (lines.empty() || lines.front() != first_line(name))
    return complain("is not a file of this program");
  if (lines.size() < 2 || !text.ends_with('\n')) return complain("is cut short");
  const std::string sum = lines.back() + "\n";
  if (!text.ends_with(sum) ||
      sum != checksum(std::string_view(text).substr(0, text.size() - sum.size())) + "\n")
    return complain("does not match its checksum");
  return {lines.begin() + 1, lines.end() - 1};
}

void DiskState::read_incarnation() {
  const std::vector<std::string> lines = lines_of("incarnation");
  if (lines.empty()) return;
  if (const auto value = parse_incarnation(lines.front()))
    incarnation_ = *value;
  else
    warnings_.push_back(fmt::format("{}: \"{}\" is no incarnation; going on without it",
                                    path("incarnation"), lines.front()));
}

void DiskState::read_peers() {
  for (const std::string& line : lines_of("peers"))
    if (auto peer = parse_endpoint(line); peer && peers_.size() < kPeersKeptLimit)
      peers_.push_back(*std::move(peer));
}

Result<void> DiskState::replace(const std::string& name,
                                const std::vector<std::string>& lines) const {
  std::string text = first_line(name) + "\n";
  for (const std::string& line : lines) text += line + "\n";
  text += checksum(text) + "\n";
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);  // it may have been removed
  if (const auto written = replace_file(path(name), text); !written)
    return fail("node.data-dir = \"{}\": {}", folder_, written.error().text);
  return {};
}

Result<std::uint64_t> DiskState::next_incarnation(std::uint64_t clock) {
  const bool is_credible = incarnation_ <= gossip::latest_incarnation(clock);
  if (!is_credible)
    warnings_.push_back(fmt::format("{}: no member believes {}; going on from the clock",
                                    path("incarnation"), incarnation_));
  const std::uint64_t next = std::max(is_credible ? incarnation_ : 0, clock) + 1;
  const auto saved = replace("incarnation", {std::to_string(next)});
  if (!saved && incarnation_ == 0) return tl::unexpected(saved.error());
  if (!saved) warnings_.push_back(saved.error().text + "; going on without");
  incarnation_ = next;
  return next;
}

std::string DiskState::keep(const std::string& file, const std::string& text) {
  if (const auto lines = lines_of(file); lines.size() == 1 && !lines.front().empty())
    return lines.front();
  if (auto saved = replace(file, {text}); !saved)
    warnings_.push_back(fmt::format("{}; the next life has another {}", saved.error().text, file));
  return text;
}

Result<void> DiskState::save_incarnation(std::uint64_t incarnation) {
  if (incarnation <= incarnation_) return {};
  TRY_DO(replace("incarnation", {std::to_string(incarnation)}));
  incarnation_ = incarnation;
  return {};
}

Result<void> DiskState::save_peers(std::vector<Endpoint> peers) {
  if (peers.size() > kPeersKeptLimit) peers.resize(kPeersKeptLimit);
  if (peers == peers_) return {};
  std::vector<std::string> lines;
  for (const Endpoint& peer : peers) lines.push_back(to_string(peer));
  TRY_DO(replace("peers", lines));
  peers_ = std::move(peers);
  return {};
}

}  // namespace starling::daemon
