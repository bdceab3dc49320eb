// LiveSettings: the settings of a running node, of which some may change (Key::is_live). To add a
// live key: live() after its bind(), and where its new value goes: a reference into
// gossip::Options that the part reads each time, or daemon/rest/api.cpp for what is no part of the
// node.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/result.h"
#include "base/settings.h"
#include "daemon/setup/config.h"

namespace starling::daemon {

// One thread at a time.
class LiveSettings {
 public:
  // Those that the node began with.
  explicit LiveSettings(Settings settings) : settings_(std::move(settings)) {}

  // The configuration with these values in place of the present ones. The error says which
  // are unknown, not live, or not allowed. Reads no file, and checks each key by itself.
  Result<Config> tried(std::span<const Term> changes) const;
  // Sets them from now on, in `round`. REQUIRES that they have been tried.
  void take(std::span<const Term> changes, std::uint64_t round);

  const Settings& settings() const { return settings_; }
  // {"eval.every": {"value": "10", "scope": "own", "origin": "default", "since_round": 0}, …}: the
  // live keys, as GET /v1/settings answers.
  nlohmann::json to_json() const;

 private:
  Settings settings_;
  std::map<std::string, std::uint64_t, std::less<>> since_;  // rounds; absent: from the start
};

}  // namespace starling::daemon
