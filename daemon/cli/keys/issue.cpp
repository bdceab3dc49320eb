#include "daemon/cli/keys/issue.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/utc.h"
#include "daemon/process/clock.h"
#include "daemon/setup/key_file.h"
#include "daemon/setup/trust_files.h"

namespace starling::daemon {
namespace {

constexpr std::int64_t kDays = 365, kDaysLimit = 36'500;
constexpr std::uint64_t kSecondsOfDay = 86'400;

Result<std::uint64_t> days_of(const CommandLine& line) {
  const auto text = line.value("days");
  if (!text) return kDays;
  const auto days = parse_integer(*text);
  if (!days || *days < 1 || *days > kDaysLimit)
    return fail("--days {}: expected days from 1 to {}", *text, kDaysLimit);
  return static_cast<std::uint64_t>(*days);
}

// The first second at which no revocation meets a certificate of this name.
Result<std::uint64_t> beginning_of(const CommandLine& line, const std::string& name,
                                   const PublicKey& key) {
  const std::uint64_t now = wall_clock();
  TRY(const auto list, load_revocations(revocations_path(cluster_key_path(line))));
  if (!list) return now;
  gossip::Certificate wanted{.name = name, .key = key, .not_before = now};
  const auto time = revoked_at(*list, wanted);
  if (!time) return now;
  wanted.not_before = *time + 1;
  if (revoked_at(*list, wanted))
    return fail("the key of {} was revoked at {}; make a new key for it", name, utc_text(*time));
  return wanted.not_before;
}

}  // namespace

std::string cluster_key_path(const CommandLine& line) {
  return line.value("cluster-key").value_or("cluster.key");
}

Result<KeyPair> cluster_key(const CommandLine& line) {
  const std::string path = cluster_key_path(line);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return fail("--cluster-key: there is no {}; `starling keygen cluster` makes one", path);
  auto key = load_key_file(path, KeyKind::cluster);
  if (!key) return fail("--cluster-key: {}", key.error().text);
  return key;
}

std::string revocations_path(const std::string& cluster_key_path) {
  return std::filesystem::path(cluster_key_path).replace_extension(".revocations").string();
}

Result<gossip::Certificate> issue(const CommandLine& line, const std::string& name,
                                  const PublicKey& key, const std::string& group) {
  TRY(const std::uint64_t days, days_of(line));
  TRY(const KeyPair cluster, cluster_key(line));
  TRY(const std::uint64_t beginning, beginning_of(line, name, key));
  if (key == cluster.public_key())
    return fail("{} has the key of the cluster; a node has its own", name);
  return gossip::sign_certificate(
      {.name = name,
       .key = key,
       .not_before = beginning,
       .not_after = std::min(beginning + days * kSecondsOfDay, kLatestMoment),
       .group = line.value("group").value_or(group)},
      cluster);
}

}  // namespace starling::daemon
